import type { exchange } from '@/db/schema.ts'
import { callerOf, type ExchangeRecord } from '@/exchange/record.ts'
import { NO_USAGE } from '@/generation/usage.ts'

/** The columns of the stored result; when it is stored is the database's to say. */
type Column = SnakeCase<Exclude<keyof typeof exchange.$inferInsert, 'storedAt'>>

/** What a row has where its JSON names no value; every other column is null there. */
export const USUAL = JSON.stringify({
  streamed: false,
  cache_read: 0,
  cache_write5m: 0,
  cache_write1h: 0,
  reasoning: 0,
  audio_input: 0,
  audio_output: 0,
  server_tools: {},
  losses: [],
} satisfies Partial<Record<Column, unknown>>)

/**
 * The stored result of an exchange by the names of its columns; amounts as text, which JSON has no integers for. What is
 * as usual is undefined, which JSON leaves out: most rows are half as long.
 */
export function columnsOf(record: ExchangeRecord, totalMs: number) {
  const { accountId, keyId } = callerOf(record)
  const { charge, usage = NO_USAGE } = record
  return {
    id: record.id,
    account_id: accountId,
    key_id: keyId,
    model: record.model,
    channel: record.channel,
    channel_format: record.channelFormat,
    surface: record.surface,
    streamed: record.streamed || undefined,
    input_uncached: usage.inputUncached,
    cache_read: usage.cacheRead || undefined,
    cache_write5m: usage.cacheWrite5m || undefined,
    cache_write1h: usage.cacheWrite1h || undefined,
    output_text: usage.outputText,
    reasoning: usage.reasoning || undefined,
    audio_input: usage.audioInput || undefined,
    audio_output: usage.audioOutput || undefined,
    server_tools: isEmpty(usage.serverTools) ? undefined : usage.serverTools,
    extras: record.extras,
    usage_source: record.usageSource ?? 'missing',
    price_version: charge?.priceVersion.toString(),
    service_tier: charge?.serviceTier,
    cost_nano: charge?.nano.toString(),
    cost_pico: charge?.pico.toString(),
    status: record.status,
    end_state: record.endState,
    error_code: record.error?.kind,
    started_at: isoTime(record.startedAt),
    first_byte_ms: record.firstByteMs,
    total_ms: totalMs,
    attempts: record.attempts,
    losses: record.losses.length === 0 ? undefined : record.losses,
  } satisfies Record<Column, unknown>
}

function isEmpty(record: object): boolean {
  for (const _ in record) return false
  return true
}

let second = Number.NaN
let upToSecond = ''

/** toISOString, of times that are mostly in the same second, which is written once. */
function isoTime(ms: number): string {
  const its = Math.floor(ms / 1000)
  if (its !== second) {
    second = its
    upToSecond = new Date(its * 1000).toISOString().slice(0, -4)
  }
  return `${upToSecond}${String(ms - its * 1000).padStart(3, '0')}Z`
}

/** The name of a column, as the schema derives it from the name of a field. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Uppercase<First> ? (First extends Lowercase<First> ? First : `_${Lowercase<First>}`) : First}${SnakeCase<Rest>}`
  : ''
