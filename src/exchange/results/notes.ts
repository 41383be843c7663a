import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseObject } from '@/json/json.ts'
import { encodeTexts } from '@/ledger/spill/journal.ts'
import { adoptLeft, lockOwn } from '@/ledger/spill/left-files.ts'
import { type Notes, openNotes } from '@/ledger/spill/notes.ts'
import type { Log } from '@/telemetry/log.ts'

/** The result of an exchange as the JSON of its row. */
export interface NotedRow {
  id: string
  text: string
}

/** Results that are not stored yet, in files that outlive their process: what was charged has its receipt. */
export interface ExchangeNotes extends Notes<NotedRow> {
  /** Stores what processes that are gone have left, until it is to stop. After the ledger has posted what they charged. */
  adopt(store: (rows: readonly NotedRow[]) => Promise<void>, signal: AbortSignal): Promise<void>
}

const SUFFIX = '.exchanges'

/** Opens two new files in the directory that are called after `name`. Fails if another process has them. */
export function openExchangeNotes(directory: string, name: string, log: Log): ExchangeNotes {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const paths = [join(directory, `${name}-1${SUFFIX}`), join(directory, `${name}-2${SUFFIX}`)] as const
  const locks = lockOwn(paths)
  const notes = openNotes<NotedRow>(paths, rows => encodeTexts(rows.map(({ text }) => text)))
  return {
    ...notes,
    adopt: (store, signal) =>
      adoptLeft(
        directory,
        SUFFIX,
        {
          read: readRow,
          takeIn: store,
          onTaken: (file, exchanges, torn) =>
            log.warn(
              { file, exchanges, torn_bytes: torn?.bytes, kept_as: torn?.keptAs },
              'stored the results of exchanges that a process left in its notes',
            ),
          onFailed: (file, err) =>
            log.error({ file, err }, 'what a process left in its notes could not be taken in'),
        },
        signal,
      ),
    close() {
      notes.close()
      locks.release()
    },
  }
}

function readRow(text: string): NotedRow | undefined {
  const id = parseObject(text)?.['id']
  return typeof id === 'string' ? { id, text } : undefined
}
