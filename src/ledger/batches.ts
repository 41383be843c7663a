import type { Clock } from '@/clock/clock.ts'
import { sqlErrorOf } from '@/db/sql-error.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { SettleAll, Spill } from '@/ledger/spill/spill.ts'
import type { Log } from '@/telemetry/log.ts'
import type { LedgerPool } from './pool.ts'
import type { Presence } from './presence.ts'
import { type LedgerStore, OWNER_GONE } from './store.ts'
import type { LedgerTimings } from './timings.ts'
import type {
  ExchangeReference,
  ExtendRequest,
  HoldRequest,
  HoldResult,
  Settlement,
  SettleResult,
} from './types.ts'
import { BatchWriter } from './writer.ts'

const REFUSED_AT_ONCE = 500

const NOTHING_CHARGED = { chargedNano: 0n, overrunNano: 0n, availableNano: undefined }

/** What exchanges ask of the database, gathered into batches; what is late there is decided here. */
export interface LedgerBatches {
  /** A hold that is late is refused, and freed in case that it was committed all the same. */
  holds: BatchWriter<HoldRequest | ExtendRequest, HoldResult>
  /** A settlement that is late goes to the journal. */
  settles: BatchWriter<Settlement, SettleResult>
  /** Settles one; what the database refuses is kept apart. */
  settle(settlement: Settlement): Promise<SettleResult>
  /** Settles what a journal holds. What the database refuses is kept apart: it would stand in the way of the rest for ever. */
  settleAll: SettleAll
  /** Tries once more what the database refused. */
  settleRefused(): Promise<void>
  /** Waits for what was submitted. */
  close(): Promise<void>
}

/** What the work of one process's ledger is done with. */
export interface LedgerParts {
  pool: LedgerPool
  presence: Presence
  /** Where charges wait while the database is away; undefined: in memory alone. */
  spill: Spill | undefined
  clock: Clock
  log: Log
  timings: LedgerTimings
}

/** Begins to gather; nothing is written before somebody asks. */
export function openBatches(parts: LedgerParts): LedgerBatches {
  const { pool, presence, spill, clock, log, timings } = parts
  let closing = false

  const settles = new BatchWriter<Settlement, SettleResult>({
    clock,
    idOf: ({ id }) => id,
    patienceMs: timings.settlePatienceMs,
    gatherMs: timings.settleGatherMs,
    write: batch => pool.guard(store => store.settle(batch)),
    onLate: settlement => journal(settlement, spill, closing),
    onFailure: error => log.warn({ err: error }, 'settlements could not be committed'),
  })
  const holds = new BatchWriter<HoldRequest | ExtendRequest, HoldResult>({
    clock,
    idOf: ({ id }) => id,
    patienceMs: timings.holdPatienceMs,
    write: batch => pool.guard(store => holdAs(presence, store, batch)),
    async onLate(request) {
      if ('lifetimeMs' in request) abandon(request)
      throw unavailable()
    },
    onFailure: error => log.warn({ err: error }, 'holds could not be committed'),
  })

  /** A writer of its own: what is late there must not come back to the journal. */
  const replays = new BatchWriter<Settlement, SettleResult>({
    clock,
    idOf: ({ id }) => id,
    patienceMs: timings.connectionTimeoutMs,
    write: batch => pool.guard(store => store.settleLeft(batch, clock.now())),
    async onLate() {
      throw unavailable()
    },
  })

  async function settleAll(settlements: readonly Settlement[]): Promise<void> {
    const results = await Promise.allSettled(settlements.map(settlement => replays.submit(settlement)))
    for (const [index, settlement] of settlements.entries()) {
      const result = results[index]
      if (result?.status !== 'rejected') continue
      if (result.reason instanceof GatewayError) throw result.reason
      await keepRefused(settlement, result.reason)
    }
  }

  async function settle(settlement: Settlement): Promise<SettleResult> {
    try {
      return await settles.submit(settlement)
    } catch (error) {
      const kept = await keepRefused(settlement, error).catch(() => journal(settlement, spill, closing))
      if (kept === undefined) throw error
      return kept
    }
  }

  async function keepRefused(settlement: Settlement, error: unknown): Promise<SettleResult> {
    log.error({ err: error, settlement: settlement.id }, 'a settlement was refused')
    const reason = error instanceof Error ? error.message : String(error)
    await pool.guard(store => store.keepRefused(settlement, reason))
    return { outcome: 'refused', ...NOTHING_CHARGED }
  }

  async function settleRefused(): Promise<void> {
    let last: string | undefined
    do {
      const refused = await pool.guard(store => store.retakeRefused(last, REFUSED_AT_ONCE))
      const results = await Promise.allSettled(refused.map(settlement => replays.submit(settlement)))
      const posted = refused.filter((_, index) => results[index]?.status === 'fulfilled').map(({ id }) => id)
      if (posted.length > 0) {
        await pool.guard(store => store.forgetRefused(posted))
        log.warn({ settlements: posted.length }, 'posted settlements that had been refused')
      }
      last = refused.length === REFUSED_AT_ONCE ? refused.at(-1)?.id : undefined
    } while (last !== undefined)
  }

  /** Whether it was committed is not known. What is committed later still, the upkeep finds. */
  function abandon(exchange: ExchangeReference): void {
    settle(releaseOf(exchange)).catch(error => log.error({ err: error }, 'a hold could not be freed'))
  }

  return {
    holds,
    settles,
    settle,
    settleAll,
    settleRefused,
    async close() {
      closing = true
      await holds.drain()
      // Whoever waited for a hold settles in the turn of its answer.
      await new Promise(resolve => setImmediate(resolve))
      await settles.drain()
    },
  }
}

/** A process that was taken for dead goes on under a new id. */
async function holdAs(
  presence: Presence,
  store: LedgerStore,
  batch: readonly (HoldRequest | ExtendRequest)[],
): Promise<(HoldResult | Error)[]> {
  try {
    return await store.hold(presence.owner(), batch)
  } catch (error) {
    if (sqlErrorOf(error)?.code !== OWNER_GONE) throw error
    await presence.beat()
    return store.hold(presence.owner(), batch)
  }
}

/** To disk. While the disk is full it stays in memory, unless the process ends. */
async function journal(
  settlement: Settlement,
  spill: Spill | undefined,
  closing: boolean,
): Promise<SettleResult | undefined> {
  try {
    if (spill === undefined) throw new Error('there is no journal')
    await spill.journal.append(settlement)
    return { outcome: 'journaled', ...NOTHING_CHARGED }
  } catch (error) {
    if (closing) throw error
    return undefined
  }
}

/** The settlement that frees a hold without a charge. */
export function releaseOf({ id, accountId, keyId }: ExchangeReference): Settlement {
  return { id, accountId, keyId, costNano: 0n, costPico: 0n }
}

function unavailable(): GatewayError {
  return new GatewayError('billing_unavailable', 'Billing is unavailable, try again in a moment', {
    retryAfterMs: 1_000,
  })
}
