import { type Aggregator, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { tallyCounter, tallyHistogram } from './tally.ts'

const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/** Everything that is counted, under names that Prometheus' rules like. One set per process (or per test). */
export function createMetrics(options: { processMetrics: boolean } = { processMetrics: true }) {
  const registry = new Registry()
  if (options.processMetrics) collectDefaultMetrics({ register: registry })
  const registers = [registry]
  return {
    registry,
    exchanges: tallyCounter({
      name: 'tollgate_exchanges_total',
      help: 'Exchanges that ended, by surface, model, end state and status.',
      labelNames: ['surface', 'model', 'end_state', 'status'],
      registers,
    }),
    exchangeSeconds: tallyHistogram({
      name: 'tollgate_exchange_seconds',
      help: 'Seconds from the request to the end of its answer.',
      labelNames: ['surface', 'end_state'],
      buckets: SECONDS,
      registers,
    }),
    firstByteSeconds: tallyHistogram({
      name: 'tollgate_first_byte_seconds',
      help: 'Seconds from the request to the first output of the upstream.',
      labelNames: ['surface', 'channel'],
      buckets: SECONDS,
      registers,
    }),
    attempts: tallyCounter({
      name: 'tollgate_attempts_total',
      help: 'Attempts on upstreams, by channel and outcome.',
      labelNames: ['channel', 'outcome'],
      registers,
    }),
    tokens: tallyCounter({
      name: 'tollgate_tokens_total',
      help: 'Tokens used, by model and bucket of the canonical usage.',
      labelNames: ['model', 'bucket'],
      registers,
    }),
    tokenCounts: new Counter({
      name: 'tollgate_token_counts_total',
      help: 'Calls that asked for the tokens of a prompt, by surface, model, who counted and status.',
      labelNames: ['surface', 'model', 'counted_by', 'status'] as const,
      registers,
    }),
    shed: new Counter({
      name: 'tollgate_shed_total',
      help: 'Requests turned away because this process had more to do than it can, by what ran short.',
      labelNames: ['reason'] as const,
      registers,
    }),
    wastedStarts: new Counter({
      name: 'tollgate_wasted_starts_total',
      help: 'Upstream calls begun for which there turned out to be no credit.',
      registers,
    }),
    charges: tallyCounter({
      name: 'tollgate_charges_total',
      help: 'Exchanges that were charged, by how their usage is known (reported, estimated) and by what the ledger did.',
      labelNames: ['source', 'outcome'],
      registers,
    }),
    overrunNano: new Counter({
      name: 'tollgate_overrun_nano_total',
      help: 'Cost beyond what was set aside for it, in billionths of the currency; charged all the same.',
      registers,
    }),
    unhandledErrors: new Counter({
      name: 'tollgate_unhandled_errors_total',
      help: 'Rejections and exceptions that nobody caught; each is a bug of ours.',
      registers,
    }),
    unrecordedExchanges: new Counter({
      name: 'tollgate_unrecorded_exchanges_total',
      help: 'Results of exchanges that could not be written to the database.',
      registers,
    }),
  }
}

export type Metrics = ReturnType<typeof createMetrics>

/** What the ledger says of itself. */
export interface LedgerReading {
  healthy: boolean
  openHolds: number
  settlementsWaiting: number
  journal: 'off' | 'empty' | 'in use' | 'full'
  holdWaitMs: number
  lastAudit: { ok: boolean; startedAt: Date } | undefined
}

/** Adds the ledger's gauges to a registry. They are read when somebody looks; over several workers each is aggregated by its own rule. */
export function exposeLedger({ registry }: Pick<Metrics, 'registry'>, read: () => LedgerReading): void {
  const gauge = (
    name: string,
    help: string,
    value: (reading: LedgerReading) => number,
    aggregator: Aggregator = 'sum',
  ) =>
    new Gauge({
      name,
      help,
      aggregator,
      registers: [registry],
      collect() {
        this.set(value(read()))
      },
    })
  gauge(
    'tollgate_ledger_healthy',
    '1 while new exchanges may be admitted.',
    ({ healthy }) => Number(healthy),
    'min',
  )
  gauge(
    'tollgate_open_holds',
    'Exchanges of this process that have money set aside.',
    state => state.openHolds,
  )
  gauge(
    'tollgate_settlements_waiting',
    'Charges that the database has not taken yet.',
    ({ settlementsWaiting }) => settlementsWaiting,
  )
  gauge(
    'tollgate_journal_in_use',
    '1 while charges wait on disk for the database.',
    ({ journal }) => Number(journal === 'in use'),
    'max',
  )
  gauge(
    'tollgate_journal_full',
    '1 while the journal cannot be written.',
    ({ journal }) => Number(journal === 'full'),
    'max',
  )
  gauge(
    'tollgate_hold_wait_seconds',
    'How long the oldest hold waits.',
    ({ holdWaitMs }) => holdWaitMs / 1000,
    'max',
  )
  gauge(
    'tollgate_audit_ok',
    '0 while the last audit found that the ledger does not hold.',
    ({ lastAudit }) => Number(lastAudit?.ok !== false),
    'min',
  )
  gauge(
    'tollgate_audit_timestamp_seconds',
    'When the last audit began, in seconds since 1970; 0: none was made since the start.',
    ({ lastAudit }) => (lastAudit?.startedAt.getTime() ?? 0) / 1000,
    'max',
  )
}

/** How many exchanges there are that have not ended, read at each scrape. */
export function exposeOpenExchanges({ registry }: Pick<Metrics, 'registry'>, read: () => number): void {
  new Gauge({
    name: 'tollgate_open_exchanges',
    help: 'Exchanges that have not ended.',
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}

/** Adds the gauges of load and limits to a registry, read when somebody looks. */
export function exposeLoad(
  { registry }: Pick<Metrics, 'registry'>,
  read: () => { lagMs: number; refusedShare: number; limitsAreDegraded: boolean },
): void {
  new Gauge({
    name: 'tollgate_limits_degraded',
    help: '1 while limits are counted without the Redis that should count them.',
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.set(Number(read().limitsAreDegraded))
    },
  })
  new Gauge({
    name: 'tollgate_event_loop_lag_seconds',
    aggregator: 'max',
    help: 'How late the event loop is: the median of the last samples, which decides whether work is turned away.',
    registers: [registry],
    collect() {
      this.set(read().lagMs / 1000)
    },
  })
  new Gauge({
    name: 'tollgate_shed_share',
    aggregator: 'average',
    help: 'Share of new requests that is turned away because of it, from 0 to 1.',
    registers: [registry],
    collect() {
      this.set(read().refusedShare)
    },
  })
}

/** What breakers say of one key of a channel, or (without a position) of the channel as a whole. */
export interface BreakerReading {
  channel: string
  key: string
  state: 'closed' | 'open' | 'half-open'
  /** Why it is not closed. */
  cause: 'failing' | 'rate-limited' | 'refused' | undefined
}

const BREAKER_STATES = { closed: 0, 'half-open': 1, open: 2 } as const

/** Adds the breakers to a registry, read when somebody looks. */
export function exposeBreakers({ registry }: Pick<Metrics, 'registry'>, read: () => BreakerReading[]): void {
  new Gauge({
    name: 'tollgate_breaker_state',
    help: 'Breakers of channels and (by their place in the pool) keys: 0 closed, 1 half-open, 2 open.',
    labelNames: ['channel', 'key'] as const,
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.reset()
      for (const { channel, key, state } of read()) this.set({ channel, key }, BREAKER_STATES[state])
    },
  })
  new Gauge({
    name: 'tollgate_held_back',
    help: 'Channels and keys that are held back, by cause; a key that is "refused" was revoked, or its credit is gone.',
    labelNames: ['channel', 'key', 'cause'] as const,
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.reset()
      for (const { channel, key, cause } of read())
        if (cause !== undefined) this.set({ channel, key, cause }, 1)
    },
  })
}
