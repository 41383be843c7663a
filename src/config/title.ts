/**
 * What people know something by, in `tollgate.yaml`, the console and commands: one line with something to see in it. Of
 * what hides or turns text it has only the joiners, which some scripts and emoji are written with.
 */
export const TITLE =
  /^(?=.*[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800])(?:[^\p{C}\p{Zl}\p{Zp}]|\u200c|\u200d){1,200}$/u
