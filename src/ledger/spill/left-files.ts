import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileLock, tryExclusive } from '@/db/file-lock.ts'
import { decodeTexts } from './journal.ts'
import { freeTornPath, type Torn } from './torn.ts'

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

/** How what others left is read and taken in. */
interface Adopter<Item extends { id: string }> {
  /** Undefined: the text is none of ours. */
  read(text: string): Item | undefined
  /** Of several records of one exchange it gets the last. What it throws leaves the files where they are. */
  takeIn(items: readonly Item[]): Promise<void>
  /** Told of each file that is gone and had something in it, and of one that is kept since not all of it could be read. */
  onTaken(path: string, records: number, torn: Torn | undefined): void
  /** Told of each file that stays because it cannot be locked, read or removed; it keeps no other from being taken in. */
  onFailed(path: string, error: unknown): void
}

/** Few: everything else in this process waits while their locks are taken. */
const FILES_AT_ONCE = 16

/** Takes in the files in a directory, of a suffix, that nobody has locked any more, some at a time, until it is to stop. */
export async function adoptLeft<Item extends { id: string }>(
  directory: string,
  suffix: string,
  adopter: Adopter<Item>,
  signal: AbortSignal,
): Promise<void> {
  const paths = readdirSync(directory)
    .filter(name => name.endsWith(suffix))
    .map(name => join(directory, name))
  for (let start = 0; start < paths.length && !signal.aborted; start += FILES_AT_ONCE) {
    await adoptSome(paths.slice(start, start + FILES_AT_ONCE), adopter)
  }
}

async function adoptSome<Item extends { id: string }>(
  paths: readonly string[],
  { read, takeIn, onTaken, onFailed }: Adopter<Item>,
): Promise<void> {
  const unlessItFails = async <Result>(path: string, act: () => Result | Promise<Result>) => {
    try {
      return await act()
    } catch (error) {
      onFailed(path, error)
      return undefined
    }
  }
  const locked = new Map<string, FileLock>()
  try {
    for (const path of paths) {
      const lock = await unlessItFails(path, () => tryLeft(path))
      if (lock !== undefined) locked.set(path, lock)
    }
    // Another process may have taken one in since the directory was read.
    const left = [...locked.keys()].filter(path => existsSync(path))
    const found = await Promise.all(left.map(path => unlessItFails(path, () => readLeft(path, read))))
    const files = found.filter(file => file !== undefined)
    await takeIn([...new Map(files.flatMap(({ items }) => items.map(item => [item.id, item]))).values()])
    for (const { path, items, tornBytes } of files) {
      await unlessItFails(path, () => {
        const torn = tornBytes > 0 ? { bytes: tornBytes, keptAs: freeTornPath(path) } : undefined
        if (torn === undefined) rmSync(path)
        else renameSync(path, torn.keptAs)
        if (items.length > 0 || torn !== undefined) onTaken(path, items.length, torn)
      })
    }
  } finally {
    for (const lock of locked.values()) lock.release()
    for (const path of locked.keys()) if (!existsSync(path)) rmSync(lockOf(path), { force: true })
  }
}

/** The lock of a file that was left; undefined: another process has it, or takes it away this moment with the file. */
function tryLeft(path: string): FileLock | undefined {
  try {
    return tryExclusive(lockOf(path))
  } catch (error) {
    if (existsSync(path)) throw error
    return undefined
  }
}

/** What a file holds. A part of a record at its end may have been in no answer, or be all that is left of one: nobody can tell. */
async function readLeft<Item>(path: string, read: (text: string) => Item | undefined) {
  const bytes = await readFile(path)
  const { items, intactBytes } = decodeTexts(bytes, read)
  return { path, items, tornBytes: written(bytes) - intactBytes }
}

function lockOf(path: string): string {
  return `${path}.lock`
}

/** How many bytes of it are of records: zeros at the end were written to see whether there is room (`Journal.probe`). */
function written(bytes: Uint8Array): number {
  return bytes.findLastIndex(byte => byte !== 0) + 1
}
