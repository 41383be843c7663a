import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileLock, tryExclusive } from '@/db/file-lock.ts'
import type { Log } from '@/telemetry/log.ts'
import { decodeRecords, type Journal, openJournal, openJournalFile } from './journal.ts'
import type { Settlement } from './types.ts'

export type SettleAll = (settlements: readonly Settlement[]) => Promise<void>

/** The journals of all processes that share a directory; each writes its own, which the kernel locks for its life. */
export interface Spill {
  journal: Journal
  /** Posts what processes that are gone have left. */
  adopt(settle: SettleAll): Promise<void>
  close(): Promise<void>
}

const SUFFIX = '.journal'

export async function openSpill(directory: string, name: string, log: Log): Promise<Spill> {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, `${name}${SUFFIX}`)
  const lock = tryExclusive(`${path}.lock`)
  if (lock === undefined) throw new Error(`${path} is in use: process ids must differ`)
  const journal = openJournal(await openJournalFile(path), 0)
  return {
    journal,
    async adopt(settle) {
      for (const file of readdirSync(directory)) {
        const other = join(directory, file)
        if (!file.endsWith(SUFFIX) || other === path) continue
        const theirs = tryExclusive(`${other}.lock`)
        if (theirs !== undefined) await adoptOne(other, theirs, settle, log)
      }
    },
    async close() {
      const empty = journal.isEmpty()
      await journal.close()
      if (empty) rmSync(path, { force: true })
      lock.release()
      if (empty) rmSync(`${path}.lock`, { force: true })
    },
  }
}

async function adoptOne(path: string, lock: FileLock, settle: SettleAll, log: Log): Promise<void> {
  let done = false
  try {
    const bytes = await readFile(path)
    const { settlements, intactBytes } = decodeRecords(bytes)
    await settle(settlements)
    // A torn record at the end was never acknowledged. It is kept all the same, for whoever wants to look.
    if (intactBytes < bytes.length) await rename(path, `${path}.torn`)
    else rmSync(path)
    done = true
    log.warn(
      { journal: path, settlements: settlements.length, torn_bytes: bytes.length - intactBytes },
      'posted the settlements that a process left in its journal',
    )
  } finally {
    lock.release()
    if (done) rmSync(`${path}.lock`, { force: true })
  }
}
