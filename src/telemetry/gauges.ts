import { type Aggregator, Gauge, type Registry } from 'prom-client'
import type { Metrics } from './metrics.ts'

/*
 * What is read of a process's parts when somebody looks, beside what exchanges count (metrics.ts). Over several workers
 * each gauge is aggregated by its own rule.
 */

/** What the ledger says of itself. */
interface LedgerReading {
  healthy: boolean
  openHolds: number
  settlementsWaiting: number
  journal: 'off' | 'empty' | 'in use' | 'full'
  holdWaitMs: number
  lastAudit: { ok: boolean; startedAt: Date } | undefined
}

/** Adds the ledger's gauges to a registry. */
export function exposeLedger({ registry }: Pick<Metrics, 'registry'>, read: () => LedgerReading): void {
  const gauge = (
    name: string,
    help: string,
    value: (reading: LedgerReading) => number,
    aggregator?: Aggregator,
  ) => addGauge(registry, name, help, () => value(read()), aggregator)
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
    '0 while the last audit, or the last full one, found that the ledger does not hold.',
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

/** How many exchanges there are that have not ended. */
export function exposeOpenExchanges({ registry }: Pick<Metrics, 'registry'>, read: () => number): void {
  addGauge(registry, 'tollgate_open_exchanges', 'Exchanges that have not ended.', read)
}

/** Adds the gauges of load and limits to a registry. */
export function exposeLoad(
  { registry }: Pick<Metrics, 'registry'>,
  read: () => { lagMs: number; refusedShare: number; filesShare: number; limitsAreDegraded: boolean },
): void {
  addGauge(
    registry,
    'tollgate_limits_degraded',
    '1 while limits are counted without the Redis that should count them.',
    () => Number(read().limitsAreDegraded),
    'max',
  )
  addGauge(
    registry,
    'tollgate_event_loop_lag_seconds',
    'How late the event loop is: the median of the last samples, which decides whether work is turned away.',
    () => read().lagMs / 1000,
    'max',
  )
  addGauge(
    registry,
    'tollgate_shed_share',
    'Share of new requests that is turned away because of it, from 0 to 1.',
    () => read().refusedShare,
    'average',
  )
  // Each worker has a limit of its own, so the fullest counts.
  addGauge(
    registry,
    'tollgate_open_files_share',
    'Share of the files that a process can have open which are open, from 0 to 1.',
    () => read().filesShare,
    'max',
  )
}

/** What breakers say of one key of a channel, perhaps for one model only, or (without a position) of the channel as a whole. */
export interface BreakerReading {
  channel: string
  key: string
  /** By the upstream's name. */
  model?: string
  state: 'closed' | 'open' | 'half-open'
  /** Why it is not closed. */
  cause: 'failing' | 'rate-limited' | 'refused' | undefined
}

const BREAKER_STATES = { closed: 0, 'half-open': 1, open: 2 } as const

/** Adds the breakers to a registry. */
export function exposeBreakers({ registry }: Pick<Metrics, 'registry'>, read: () => BreakerReading[]): void {
  new Gauge({
    name: 'tollgate_breaker_state',
    help: 'Breakers of channels and (by their place in the pool) keys: 0 closed, 1 half-open, 2 open.',
    labelNames: ['channel', 'key'] as const,
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.reset()
      for (const { channel, key, model, state } of read())
        if (model === undefined) this.set({ channel, key }, BREAKER_STATES[state])
    },
  })
  new Gauge({
    name: 'tollgate_held_back',
    help: 'Channels, keys and models of keys that are held back, by cause; a key that is "refused" was revoked, or its credit is gone, or it may not use the model.',
    labelNames: ['channel', 'key', 'model', 'cause'] as const,
    aggregator: 'max',
    registers: [registry],
    collect() {
      this.reset()
      for (const { channel, key, model, cause } of read())
        if (cause !== undefined) this.set({ channel, key, ...(model !== undefined && { model }), cause }, 1)
    },
  })
}

/** A gauge without labels. */
function addGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number,
  aggregator: Aggregator = 'sum',
): void {
  new Gauge({
    name,
    help,
    aggregator,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}
