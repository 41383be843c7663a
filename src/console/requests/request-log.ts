import { and, desc, eq, gte, lt, ne, type SQL, sql } from 'drizzle-orm'
import { keyStore } from '@/accounts/key-store.ts'
import { accountStore } from '@/accounts/store.ts'
import type { Rows } from '@/db/connect.ts'
import { exchange } from '@/db/schema.ts'
import { inputTokens, outputTokens } from '@/generation/usage.ts'
import { formatMoney } from '@/pricing/money.ts'
import type { RequestLine } from '../api/contract/requests.ts'
import type { EndFilter } from '../api/contract/words.ts'
import { keyLabel } from '../key-labels.ts'

/** A request that is over, as it is stored. */
export type StoredExchange = typeof exchange.$inferSelect

/** What a page of the log is asked for; what is left out is no condition. */
export interface LogQuery {
  /** Undefined: of all accounts. */
  accountId: number | undefined
  /** Only what began before this request; undefined: from the newest. */
  before: string | undefined
  limit: number
  model?: string | undefined
  channel?: string | undefined
  keyId?: number | undefined
  /** `200`, or `4xx`. */
  status?: string | undefined
  endState?: EndFilter | undefined
  /** The beginning of a request id. */
  idPrefix?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
}

/** A part of the log. */
interface LogPart {
  rows: StoredExchange[]
  /** The last request that was looked at, where there are more behind it; undefined: there are none. */
  reached: string | undefined
}

/** No index knows what is searched for by a status or a model: of more requests at a time the search is given up. */
const LOOKED_AT = 200_000

/** Newest first. Ids begin with the time, so that times and beginnings of ids are ranges of the index. */
export async function readLog(rows: Rows, query: LogQuery, lookedAt = LOOKED_AT): Promise<LogPart> {
  const of = <Value>(value: Value | undefined, condition: (value: Value) => SQL | undefined) =>
    value === undefined ? undefined : condition(value)
  const range = and(
    of(query.accountId, id => eq(exchange.accountId, id)),
    of(query.before, id => lt(exchange.id, id)),
    of(query.from, from => gte(exchange.id, firstIdAt(from))),
    of(query.to, to => lt(exchange.id, firstIdAt(to))),
    of(query.idPrefix, prefix =>
      and(gte(exchange.id, padded(prefix, '0')), sql`${exchange.id} <= ${padded(prefix, 'f')}::uuid`),
    ),
  )
  const search = and(
    of(query.model, model => eq(exchange.model, model)),
    of(query.channel, channel => eq(exchange.channel, channel)),
    of(query.keyId, id => eq(exchange.keyId, id)),
    of(query.endState, end =>
      end === 'incomplete' ? ne(exchange.endState, 'complete') : eq(exchange.endState, end),
    ),
    of(query.status, hasStatus),
  )
  const ids = rows.select({ id: exchange.id }).from(exchange).where(range).orderBy(desc(exchange.id))
  const [border] = search === undefined ? [] : await ids.offset(lookedAt - 1).limit(1)
  const found = await rows
    .select()
    .from(exchange)
    .where(
      and(
        range,
        search,
        of(border?.id, id => gte(exchange.id, id)),
      ),
    )
    .orderBy(desc(exchange.id))
    .limit(query.limit)
  return { rows: found, reached: found.length < query.limit ? border?.id : found.at(-1)?.id }
}

/** The newest of what was stored since a moment of the database's clock, latest first. */
export function readNewest(rows: Rows, since: Date, limit: number): Promise<StoredExchange[]> {
  return rows
    .select()
    .from(exchange)
    .where(gte(exchange.storedAt, since))
    .orderBy(desc(exchange.storedAt), desc(exchange.id))
    .limit(limit)
}

/** The smallest request id of a moment. */
export function firstIdAt(moment: Date): string {
  return padded(Math.max(0, moment.getTime()).toString(16).padStart(12, '0'), '0')
}

/** The moment that a request id begins with. */
export function momentOf(id: string): Date {
  return new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16))
}

/** What people call the keys and the accounts of some rows, by their numbers. */
interface LogNames {
  keys: ReadonlyMap<number, string>
  /** Empty where they are not shown. */
  accounts: ReadonlyMap<number, string>
}

/** Where none could be read: a key is called by its number then, and an account has no address. */
export const NO_NAMES: LogNames = { keys: new Map(), accounts: new Map() }

/** The names of these rows. */
export async function namesOf(
  rows: Rows,
  exchanges: readonly StoredExchange[],
  { showsAccount }: { showsAccount: boolean },
): Promise<LogNames> {
  const keyIds = new Set(exchanges.map(({ keyId }) => keyId))
  const accountIds = new Set(showsAccount ? exchanges.map(({ accountId }) => accountId) : [])
  const keys = await keyStore({ orm: rows }).findKeyNames([...keyIds])
  const accounts = await accountStore({ orm: rows }).findEmails([...accountIds])
  return { keys: new Map(keys.map(key => [key.id, keyLabel(key)])), accounts }
}

/** A stored result as a line of the log. */
export function lineOf(row: StoredExchange, names: LogNames, showsChannel: boolean): RequestLine {
  return {
    id: row.id,
    account_id: row.accountId,
    account_email: names.accounts.get(row.accountId) ?? null,
    key_id: row.keyId,
    key_name: names.keys.get(row.keyId) ?? `key ${row.keyId}`,
    model: row.model,
    surface: row.surface,
    streamed: row.streamed,
    status: row.status,
    end_state: row.endState,
    error_code: row.errorCode,
    started_at: row.startedAt.toISOString(),
    first_byte_ms: row.firstByteMs,
    total_ms: row.totalMs,
    input_tokens: inputTokens(row),
    output_tokens: outputTokens(row),
    cost: row.costNano === null ? null : formatMoney(row.costNano),
    channel: showsChannel ? row.channel : null,
  }
}

function hasStatus(status: string): SQL | undefined {
  if (!status.endsWith('xx')) return eq(exchange.status, Number(status))
  const hundred = Number(status[0]) * 100
  return and(gte(exchange.status, hundred), lt(exchange.status, hundred + 100))
}

/** The first or the last uuid that begins so. */
function padded(prefix: string, digit: '0' | 'f'): string {
  const hex = prefix.toLowerCase().replaceAll('-', '').slice(0, 32).padEnd(32, digit)
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
