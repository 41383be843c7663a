import { existsSync } from 'node:fs'

/** A file of which something could not be read: of how many bytes nothing could be made, and where all of it is kept. */
export interface Torn {
  bytes: number
  keptAs: string
}

/** Where a file is kept of which something cannot be read: beside it, in the place of none that was kept before. */
export function freeTornPath(path: string): string {
  let torn = `${path}.torn`
  for (let count = 2; existsSync(torn); count += 1) torn = `${path}.torn-${count}`
  return torn
}
