import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Settlement } from '@/ledger/types.ts'
import type { Log } from '@/telemetry/log.ts'
import { decodeRecords, encodeRecords, type Journal, openJournal, openJournalFile } from './journal.ts'
import { adoptLeft, lockOwn } from './left-files.ts'
import { type Notes, openNotes } from './notes.ts'

/**
 * Posts settlements, of which any may have been posted before. One that the ledger refuses is told to the log. Rejects
 * with a GatewayError where the database cannot be asked.
 */
export type SettleAll = (settlements: readonly Settlement[]) => Promise<void>

/** The journals and notes of all processes that share a directory; each writes its own, which the kernel locks for its life. */
export interface Spill {
  journal: Journal
  /** Charges that are known: an answer is charged in full even if its process is killed right after it gave it. */
  notes: Notes<Settlement>
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
  const locks = lockOwn(own)
  const journal = openJournal(await openJournalFile(path))
  const notes = openNotes(pages, encodeRecords)
  return {
    journal,
    notes,
    adopt: settle =>
      adoptLeft(directory, SUFFIX, own, async file => {
        const { settlements, intactBytes } = decodeRecords(file.bytes)
        // A page of notes may have an exchange twice: what it cost is known better later.
        await settle([...new Map(settlements.map(settlement => [settlement.id, settlement])).values()])
        const tornBytes = await file.remove(intactBytes)
        if (settlements.length === 0 && tornBytes === 0) return
        log.warn(
          { journal: file.path, settlements: settlements.length, torn_bytes: tornBytes },
          'posted the settlements that a process left in its journal',
        )
      }),
    async close() {
      const empty = journal.isEmpty()
      await journal.close()
      if (empty) rmSync(path, { force: true })
      notes.close()
      locks.release()
    },
  }
}
