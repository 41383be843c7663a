/** What people know something by, in `tollgate.yaml`, the console and commands. */
export const TITLE = lineOf(200)
/** Why somebody did something, in the console and commands. */
export const REASON = lineOf(500)

/**
 * One line with something to see in it, of so many characters at most. Of what hides or turns text it has only the
 * joiners, which some scripts and emoji are written with.
 */
function lineOf(most: number): RegExp {
  return new RegExp(
    `^(?=.*[^\\s\\p{C}\\p{Default_Ignorable_Code_Point}\\u2800])(?:[^\\p{C}\\p{Zl}\\p{Zp}]|\\u200c|\\u200d){1,${most}}$`,
    'u',
  )
}
