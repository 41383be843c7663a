import type { Clock } from '@/clock/clock.ts'
import type { EndState } from '@/db/schema.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import type { ExchangeWriter } from '@/exchange/results/store.ts'
import { inputTokens, outputTokens, type Usage } from '@/generation/usage.ts'
import { formatMoney } from '@/pricing/money.ts'
import type { Log } from '@/telemetry/log.ts'
import type { Metrics } from '@/telemetry/metrics.ts'
import { scrubName } from '@/telemetry/scrub.ts'
import type { ExchangeSpan, Spans } from '@/telemetry/spans.ts'

/** Where the end of an exchange is told; a Gateway is one. */
export interface SettlementDependencies {
  clock: Clock
  log: Log
  metrics: Metrics
  /** Undefined: nobody collects spans. */
  spans: Spans | undefined
  /** Keeps the results of exchanges. */
  store: Pick<ExchangeWriter, 'take'>
  /** Results that wait for the answer to their charge. */
  settling: Set<Promise<void>>
}

/**
 * The end of every exchange, whichever way it went: the stored result, one log line, the counters. The result of one
 * that costs something is stored after `charged`. Of a process that is killed before, the next one posts the charge and
 * stores the result, in this order: nobody sees the receipt of a charge that was not made.
 */
export function settle(
  record: ExchangeRecord,
  dependencies: SettlementDependencies,
  charged?: Promise<void>,
): void {
  const { store, settling } = dependencies
  const totalMs = dependencies.clock.elapsed() - record.begunAt
  count(record, totalMs, dependencies.metrics)
  report(record, totalMs, dependencies.log)
  dependencies.spans?.add(spanOf(record, totalMs))
  if (record.caller === undefined) return
  const keep = store.take(record, totalMs)
  if (charged === undefined || record.charge === undefined) return keep()
  const stored = charged.then(() => {
    settling.delete(stored)
    keep()
  })
  settling.add(stored)
}

function count(record: ExchangeRecord, totalMs: number, metrics: Metrics): void {
  const { surface, endState, status, usage, firstByteMs } = record
  const model = record.model ?? ''
  metrics.exchanges.of(surface, model, endState, status).add()
  metrics.exchangeSeconds.of(surface, endState).observe(totalMs / 1000)
  if (firstByteMs !== undefined) {
    metrics.firstByteSeconds.of(surface, record.channel ?? '').observe(firstByteMs / 1000)
  }
  if (usage === undefined) return
  for (const bucket of TOKEN_BUCKETS) {
    const tokens = usage[bucket]
    if (tokens > 0) metrics.tokens.of(model, bucket).add(tokens)
  }
}

/** All that usage counts in tokens. */
const TOKEN_BUCKETS = [
  'inputUncached',
  'cacheRead',
  'cacheWrite5m',
  'cacheWrite1h',
  'outputText',
  'reasoning',
  'audioInput',
  'audioOutput',
] as const satisfies readonly Exclude<keyof Usage, 'serverTools'>[]

function spanOf(record: ExchangeRecord, totalMs: number): ExchangeSpan {
  const { startedAt, usage, firstByteMs } = record
  return {
    requestId: record.id,
    surface: record.surface,
    model: record.model,
    streamed: record.streamed,
    startedAt,
    endedAt: startedAt + totalMs,
    firstByteAt: firstByteMs === undefined ? undefined : startedAt + firstByteMs,
    status: record.status,
    endState: record.endState,
    error: record.error?.kind,
    inputTokens: usage && inputTokens(usage),
    outputTokens: usage && outputTokens(usage),
    traceparent: record.traceparent,
    attempts: record.tries,
  }
}

function report(record: ExchangeRecord, totalMs: number, log: Log): void {
  const line = lineOf(record, totalMs)
  if (isPlain(record)) log.plain(line, 'exchange')
  else if (record.error?.kind === 'internal_error')
    log.error({ ...line, err: record.error.cause }, 'exchange')
  else if (hasFailed(record)) log.warn(line, 'exchange')
  else log.info(line, 'exchange')
}

/** Whether the caller got less than was asked for, and neither they nor a limit of theirs is why. */
function hasFailed({ status, endState }: ExchangeRecord): boolean {
  return status >= 500 || (status === 200 && FAILURES.has(endState))
}

const FAILURES: ReadonlySet<EndState> = new Set(['upstream_cut', 'upstream_error', 'stalled'])

/** Whether a line holds nothing but what is ours: no text of an upstream, and no name that a caller or a vendor made up. */
function isPlain({ error, losses, extras, usage }: ExchangeRecord): boolean {
  if (error !== undefined || losses.length > 0 || extras !== undefined) return false
  for (const _tool in usage?.serverTools) return false
  return true
}

function lineOf(record: ExchangeRecord, totalMs: number) {
  const { error } = record
  return {
    request_id: record.id,
    surface: record.surface,
    model: record.model && scrubName(record.model),
    channel: record.channel && scrubName(record.channel),
    format: record.channelFormat,
    account: record.caller?.accountId,
    key: record.caller?.keyId,
    status: record.status,
    end_state: record.endState,
    streamed: record.streamed,
    attempts: record.attempts,
    first_byte_ms: record.firstByteMs,
    total_ms: totalMs,
    usage: record.usage,
    extras: record.extras,
    service_tier: record.charge?.serviceTier,
    cost: record.charge && formatMoney(record.charge.nano),
    losses: record.losses.length > 0 ? record.losses : undefined,
    error: error && { kind: error.kind, message: error.message, detail: error.detail },
  }
}
