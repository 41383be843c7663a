import { mkdirSync, rmSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settlement } from '@/ledger/types.ts'
import type { Log } from '@/telemetry/log.ts'
import {
  encodeRecords,
  HOW_TO_CHARGE_TORN,
  type Journal,
  type JournalFile,
  openJournal,
  openJournalFile,
  readSettlement,
} from './journal.ts'
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
  /** Posts what processes that are gone have left, until it is to stop. */
  adopt(settle: SettleAll, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

const SUFFIX = '.journal'

/** Opens the files of the process called `name`. Fails if another has them. */
export async function openSpill(directory: string, name: string, log: Log): Promise<Spill> {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const pathOf = (part: string) => join(directory, `${name}${part}${SUFFIX}`)
  const path = pathOf('')
  const pages = [pathOf('-notes-1'), pathOf('-notes-2')] as const
  const locks = lockOwn([path, ...pages])
  const file = await openJournalFile(path)
  const write: JournalFile['write'] = async (bytes, position) => {
    await checkThere([path])
    await file.write(bytes, position)
  }
  const journal = openJournal({ ...file, write }, log, () => checkThere(pages))
  const notes = openNotes(pages, encodeRecords)
  return {
    journal,
    notes,
    adopt: (settle, signal) =>
      adoptLeft(
        directory,
        SUFFIX,
        {
          read: readSettlement,
          takeIn: settle,
          onTaken(path, settlements, torn) {
            const posted = 'posted the settlements that a process left in its journal'
            if (torn === undefined) log.warn({ journal: path, settlements }, posted)
            else {
              const advice = `but what could not be read of it, which is kept. ${HOW_TO_CHARGE_TORN}`
              log.error(
                { journal: path, settlements, torn_bytes: torn.bytes, kept_as: torn.keptAs },
                `${posted}, ${advice}`,
              )
            }
          },
          onFailed: (path, err) =>
            log.error({ journal: path, err }, 'what a process left in its journal could not be taken in'),
        },
        signal,
      ),
    async close() {
      await journal.close()
      if (journal.isEmpty()) rmSync(path, { force: true })
      notes.close()
      locks.release()
    },
  }
}

/** Files that were removed, or whose disk is gone, still take all that is written. Nobody would find it. */
async function checkThere(paths: readonly string[]): Promise<void> {
  await Promise.all(paths.map(path => access(path)))
}
