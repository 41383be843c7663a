import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileLock, tryExclusive } from '@/db/file-lock.ts'
import type { Settlement } from '@/ledger/types.ts'
import type { Log } from '@/telemetry/log.ts'
import { decodeRecords, type Journal, openJournal, openJournalFile } from './journal.ts'
import { type Notes, openNotes } from './notes.ts'

/**
 * Posts settlements, of which any may have been posted before. One that the ledger refuses is told to the log. Rejects
 * with a GatewayError where the database cannot be asked.
 */
export type SettleAll = (settlements: readonly Settlement[]) => Promise<void>

/** The journals and notes of all processes that share a directory; each writes its own, which the kernel locks for its life. */
export interface Spill {
  journal: Journal
  notes: Notes
  /** Posts what processes that are gone have left. */
  adopt(settle: SettleAll): Promise<void>
  close(): Promise<void>
}

const SUFFIX = '.journal'

/** Opens the files of the process called `name`. Fails if another has them. */
export async function openSpill(directory: string, name: string, log: Log): Promise<Spill> {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const pathOf = (part: string) => join(directory, `${name}${part}${SUFFIX}`)
  const path = pathOf('')
  const pages = [pathOf('-notes-1'), pathOf('-notes-2')] as const
  const own = [path, ...pages]
  const locks = own.map(lockOwn)
  const journal = openJournal(await openJournalFile(path), 0)
  const notes = openNotes(pages)
  return {
    journal,
    notes,
    async adopt(settle) {
      for (const file of readdirSync(directory)) {
        const other = join(directory, file)
        if (!file.endsWith(SUFFIX) || own.includes(other)) continue
        const theirs = tryExclusive(`${other}.lock`)
        if (theirs !== undefined) await adoptOne(other, theirs, settle, log)
      }
    },
    async close() {
      const empty = journal.isEmpty()
      await journal.close()
      if (empty) rmSync(path, { force: true })
      notes.close()
      for (const lock of locks) lock.release()
      for (const file of own) if (!existsSync(file)) rmSync(`${file}.lock`, { force: true })
    },
  }
}

function lockOwn(path: string): FileLock {
  const lock = tryExclusive(`${path}.lock`)
  if (lock === undefined) throw new Error(`${path} is in use: process ids must differ`)
  return lock
}

async function adoptOne(path: string, lock: FileLock, settle: SettleAll, log: Log): Promise<void> {
  let done = false
  try {
    const bytes = await readFile(path)
    const { settlements, intactBytes } = decodeRecords(bytes)
    // A page of notes may have an exchange twice: what it cost is known better later.
    await settle([...new Map(settlements.map(settlement => [settlement.id, settlement])).values()])
    const tornBytes = written(bytes.subarray(intactBytes))
    // A torn record at the end was never acknowledged. It is kept all the same, for whoever wants to look.
    if (tornBytes > 0) await rename(path, `${path}.torn`)
    else rmSync(path)
    done = true
    if (settlements.length === 0 && tornBytes === 0) return
    log.warn(
      { journal: path, settlements: settlements.length, torn_bytes: tornBytes },
      'posted the settlements that a process left in its journal',
    )
  } finally {
    lock.release()
    if (done) rmSync(`${path}.lock`, { force: true })
  }
}

/** How many bytes of it somebody wrote: zeros at the end are a process that was killed while it looked for room. */
function written(bytes: Uint8Array): number {
  return bytes.findLastIndex(byte => byte !== 0) + 1
}
