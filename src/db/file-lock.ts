import { Database as Sqlite } from 'bun:sqlite'
import { codeOf } from '@/errors/code.ts'
import { Refusal } from '@/errors/refusal.ts'

/**
 * A lock on a file that the kernel takes back when its process dies, however it dies: it cannot go stale. Bun has no
 * flock; SQLite takes the same kind of lock (fcntl) on a file and comes with Bun, so an empty SQLite file in an open
 * transaction is the lock. Locks of one process exclude one another like those of two.
 */
export interface FileLock {
  release(): void
}

/** The lock for one holder, or undefined if anybody holds it in either way. */
export function tryExclusive(path: string): FileLock | undefined {
  return tryLock(path, file => file.run('begin exclusive'))
}

/** The lock for any number of holders, or undefined while one holds it exclusively. */
export function tryShared(path: string): FileLock | undefined {
  return tryLock(path, file => {
    file.run('begin')
    // The lock is taken by the first read of the transaction.
    file.query('select count(*) from sqlite_master').get()
  })
}

function tryLock(path: string, take: (file: Sqlite) => void): FileLock | undefined {
  const file = openFile(path)
  try {
    take(file)
  } catch (error) {
    file.close()
    if (codeOf(error).startsWith('SQLITE_BUSY')) return undefined
    throw cannotLock(path, error)
  }
  return { release: () => file.close() }
}

function openFile(path: string): Sqlite {
  try {
    return new Sqlite(path, { create: true })
  } catch (error) {
    throw cannotLock(path, error)
  }
}

/** Most likely a file of another user's. */
function cannotLock(path: string, cause: unknown): Refusal {
  return new Refusal(`${path} cannot be locked: ${cause instanceof Error ? cause.message : String(cause)}`, {
    cause,
  })
}
