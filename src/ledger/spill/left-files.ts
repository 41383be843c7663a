import { existsSync, readdirSync, rmSync } from 'node:fs'
import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileLock, tryExclusive } from '@/db/file-lock.ts'

/**
 * Locks the files of this process for its life, in which the kernel holds the locks.
 * @throws Error if another process has one of them
 */
export function lockOwn(paths: readonly string[]): { release(): void } {
  const locks = paths.map(path => {
    const lock = tryExclusive(lockOf(path))
    if (lock === undefined) throw new Error(`${path} is in use: process ids must differ`)
    return lock
  })
  return {
    release() {
      for (const lock of locks) lock.release()
      for (const path of paths) if (!existsSync(path)) rmSync(lockOf(path), { force: true })
    },
  }
}

/** A file that its process has left. */
export interface LeftFile {
  path: string
  bytes: Uint8Array
  /**
   * Removes it, since all of its intact bytes are taken in; the result is how many more somebody wrote. A torn record
   * at the end was never acknowledged; it is kept all the same, for whoever wants to look.
   */
  remove(intactBytes: number): Promise<number>
}

/** Hands over the files in a directory, of a suffix, that belong to nobody any more, one after the other. */
export async function adoptLeft(
  directory: string,
  suffix: string,
  own: readonly string[],
  takeIn: (file: LeftFile) => Promise<void>,
): Promise<void> {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name)
    if (!name.endsWith(suffix) || own.includes(path)) continue
    const theirs = tryExclusive(lockOf(path))
    if (theirs !== undefined) await adoptOne(path, theirs, takeIn)
  }
}

async function adoptOne(
  path: string,
  lock: FileLock,
  takeIn: (file: LeftFile) => Promise<void>,
): Promise<void> {
  let done = false
  try {
    const bytes = await readFile(path)
    await takeIn({
      path,
      bytes,
      async remove(intactBytes) {
        const tornBytes = written(bytes.subarray(intactBytes))
        if (tornBytes > 0) await rename(path, `${path}.torn`)
        else rmSync(path)
        done = true
        return tornBytes
      },
    })
  } finally {
    lock.release()
    if (done) rmSync(lockOf(path), { force: true })
  }
}

function lockOf(path: string): string {
  return `${path}.lock`
}

/** How many bytes of it somebody wrote: zeros at the end are a process that was killed while it looked for room. */
function written(bytes: Uint8Array): number {
  return bytes.findLastIndex(byte => byte !== 0) + 1
}
