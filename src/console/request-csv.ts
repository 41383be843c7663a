import type { Rows } from '@/db/connect.ts'
import { csvDownload } from './csv.ts'
import { keyNamesOf, type LogQuery, lineOf, readLog } from './request-log.ts'

const HEADINGS = [
  'started',
  'id',
  'account',
  'key',
  'model',
  'surface',
  'channel',
  'status',
  'end',
  'error',
  'input tokens',
  'output tokens',
  'first byte ms',
  'total ms',
  'cost',
  'service tier',
]

/** A part holds no connection while it is on its way: whoever reads slowly keeps nobody else waiting. */
const PART = 1_000

/** All that the log has under these conditions as a file, newest first. */
export function downloadLog(rows: Rows, query: Omit<LogQuery, 'limit'>, showsChannel: boolean): Response {
  return csvDownload('requests.csv', HEADINGS, parts(rows, query, showsChannel))
}

async function* parts(rows: Rows, query: Omit<LogQuery, 'limit'>, showsChannel: boolean) {
  let { before } = query
  do {
    const part = await readLog(rows, { ...query, before, limit: PART })
    const names = await keyNamesOf(rows, part.rows)
    yield part.rows
      .map(row => ({ ...lineOf(row, names, showsChannel), serviceTier: row.serviceTier }))
      .map(line => [
        line.started_at,
        line.id,
        line.account_id,
        line.key_name,
        line.model,
        line.surface,
        line.channel,
        line.status,
        line.end_state,
        line.error_code,
        line.input_tokens,
        line.output_tokens,
        line.first_byte_ms,
        line.total_ms,
        line.cost,
        line.serviceTier,
      ])
    before = part.reached
  } while (before !== undefined)
}
