import type { RequestLine } from '../api/contract/requests.ts'
import { csvDownload } from '../csv.ts'
import type { Console } from '../deployment.ts'
import { type LogQuery, lineOf, namesOf, readLog, type StoredExchange } from './request-log.ts'

type Where = Pick<Console, 'database' | 'lookups'> & { currency: string }

type Line = RequestLine & Pick<StoredExchange, 'serviceTier'> & Pick<Where, 'currency'>

/** Their headings, and what of a line is below. */
const COLUMNS: readonly (readonly [string, Exclude<keyof Line, 'streamed'>])[] = [
  ['started', 'started_at'],
  ['id', 'id'],
  ['account', 'account_id'],
  ['key', 'key_name'],
  ['model', 'model'],
  ['surface', 'surface'],
  ['channel', 'channel'],
  ['status', 'status'],
  ['end', 'end_state'],
  ['error', 'error_code'],
  ['input tokens', 'input_tokens'],
  ['output tokens', 'output_tokens'],
  ['first byte ms', 'first_byte_ms'],
  ['total ms', 'total_ms'],
  ['cost', 'cost'],
  ['service tier', 'serviceTier'],
  ['currency', 'currency'],
]

/** A part holds no connection while it is on its way: whoever reads slowly keeps nobody else waiting. */
const PART = 1_000

/** All that the log has under these conditions as a file, newest first. `asker` is the account of who wants it. */
export function downloadLog(
  where: Where,
  asker: number,
  query: Omit<LogQuery, 'limit'>,
  showsChannel: boolean,
): Promise<Response> {
  return csvDownload(
    'requests.csv',
    COLUMNS.map(([heading]) => heading),
    parts(where, asker, query, showsChannel),
  )
}

/** The first may be refused; a file that has begun goes on to its end. */
async function* parts(
  { database, lookups, currency }: Where,
  asker: number,
  query: Omit<LogQuery, 'limit'>,
  showsChannel: boolean,
) {
  let { before } = query
  let refusable = true
  do {
    const wanted = { ...query, before, limit: PART }
    const part = await lookups.pass(asker, () => readLog(database.orm, wanted), { refusable })
    const names = await namesOf(database.orm, part.rows, { showsAccount: false })
    yield part.rows.map(row => {
      const line: Line = { ...lineOf(row, names, showsChannel), serviceTier: row.serviceTier, currency }
      return COLUMNS.map(([, name]) => line[name])
    })
    before = part.reached
    refusable = false
  } while (before !== undefined)
}
