import type { Clock } from '@/clock/clock.ts'
import { connect, type Database } from '@/db/connect.ts'
import { sqlErrorOf } from '@/db/sql-error.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { Refusal } from '@/errors/refusal.ts'
import type { Log } from '@/telemetry/log.ts'
import { type AuditOptions, type AuditReport, audit, auditInTurn, type LastAudit } from './audit.ts'
import { type Presence, register } from './presence.ts'
import { reap } from './reaper.ts'
import { hashCode, mintCode } from './redeem-code.ts'
import { openSpill, type Spill } from './spill.ts'
import { type LedgerStore, ledgerStore, OWNER_GONE } from './store.ts'
import type {
  Balance,
  ExchangeReference,
  ExtendRequest,
  HoldRequest,
  HoldResult,
  Posted,
  Posting,
  Redeemed,
  Settlement,
  SettleResult,
  Stop,
} from './types.ts'
import { batchWriter } from './writer.ts'

/** Money, for the exchanges of one process. Every amount is bigint nano units. */
export interface Ledger {
  /**
   * Sets credit aside; it is durable when this answers. The same id again answers the same.
   * @throws GatewayError `billing_unavailable` if the database does not answer; then nothing stays set aside
   */
  hold(request: HoldRequest): Promise<HoldResult>
  /** Sets more aside for a running exchange. Throws as `hold` does; what was set aside before stays. */
  extend(request: ExtendRequest): Promise<HoldResult>
  /** Charges what an exchange cost and frees its hold, once per id. Waits for nobody: a database that is away gets it later. */
  settle(settlement: Settlement): Promise<SettleResult>
  /** Frees a hold without a charge. */
  void(exchange: ExchangeReference): Promise<SettleResult>
  /**
   * Another answers for the hold of a running exchange from now on: a job in the database, which took it over
   * (ledger_entrust) and settles or voids it when it ends, in whichever process.
   */
  entrusted(id: string): void
  /** Notes what a running exchange has cost so far, for the case that this process dies. Returns at once. */
  progress(id: string, costNano: bigint): void
  /**
   * Notes what an exchange is about to be charged, when its answer is about to be given: if this process dies before
   * `settle`, its successor charges that. Returns at once.
   */
  note(settlement: Settlement): void
  /** @throws Refusal */
  post(posting: Posting): Promise<Posted>
  /** Makes redeem codes; they are in this answer and nowhere else. */
  createCodes(terms: { amountNano: bigint; uses: number; count: number; expiresAt?: Date }): Promise<string[]>
  /** @throws Refusal for an account that does not exist */
  redeem(typedCode: string, accountId: number): Promise<Redeemed>
  balance(accountId: number): Promise<Balance | undefined>
  audit(options?: AuditOptions): Promise<AuditReport>
  /** Whether new exchanges may be admitted. */
  healthy(): boolean
  state(): LedgerState
  /** Processes that are alive, this one included. */
  processes(): number
  /** Heartbeat, checkpoints, reaper, journal. Called by the clock; a test calls it itself. */
  beat(): Promise<void>
  /** Partitions, expiry of credit, daily totals. Called by the clock; a test calls it itself. */
  maintain(): Promise<void>
  /** The audit of what is new, if it is this process's turn. Called by the clock; a test calls it itself. */
  inspect(): Promise<void>
  /** Waits for what was submitted, and leaves. What cannot be committed is in the journal. */
  close(): Promise<void>
}

/** What an admission rule or a metric wants to know. */
export interface LedgerState {
  /** How long the oldest hold has waited for its answer, in ms. */
  holdWaitMs: number
  /** Since a batch of holds failed, in ms; undefined: none did. */
  holdFailureAgoMs: number | undefined
  /** Exchanges of this process that have a hold. */
  openHolds: number
  settlementsWaiting: number
  journal: 'off' | 'empty' | 'in use' | 'full'
  /** Processes that are alive, this one included. */
  processes: number
  /** Undefined: none was made yet, or this process has not asked. */
  lastAudit: LastAudit | undefined
}

export interface LedgerOptions {
  databaseUrl: string
  /** Where settlements go that cannot be committed, shared by the processes of a machine; undefined: memory only. */
  journalDirectory: string | undefined
  /** Where this process runs, for people. */
  address: string
  clock: Clock
  /** A new UUIDv7. */
  newId(): string
  /** That many bytes nobody can guess. */
  random(bytes: number): Uint8Array
  log: Log
  /** Told once of each running exchange that must end: its key was revoked, its account suspended, its hold taken. */
  onStop?(stop: Stop): void
  timings?: Partial<LedgerTimings>
}

export interface LedgerTimings {
  heartbeatMs: number
  /** Without a heartbeat for so long, a process is dead. By the clock of the database. */
  deadAfterMs: number
  maintenanceMs: number
  /** Between two audits, whichever processes make them. */
  auditMs: number
  /** How long a hold waits for a database that does not answer. */
  holdPatienceMs: number
  /** The least time between two batches of settlements: each locks its wallets until it is on disk, and holds wait for that. */
  settleGatherMs: number
  /** After so long a settlement goes to the journal. */
  settlePatienceMs: number
  statementTimeoutMs: number
  /** A statement without any answer for so long is on a connection that is dead. */
  connectionTimeoutMs: number
}

const TIMINGS: LedgerTimings = {
  heartbeatMs: 2_000,
  deadAfterMs: 10_000,
  maintenanceMs: 60_000,
  auditMs: 300_000,
  holdPatienceMs: 2_000,
  settleGatherMs: 5,
  settlePatienceMs: 2_000,
  statementTimeoutMs: 2_000,
  connectionTimeoutMs: 6_000,
}

const CONNECTIONS = 4
const MONTHS_AHEAD = 3
const ACCOUNTS_AT_ONCE = 1_000

export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { clock, log, newId } = options
  const timings = { ...TIMINGS, ...options.timings }
  const pool = openPool(options.databaseUrl, timings, clock)
  const presence = await register({ store: pool.store, newId, address: options.address }).catch(error =>
    pool.close().then(() => Promise.reject(error)),
  )
  const spill =
    options.journalDirectory === undefined
      ? undefined
      : await openSpill(options.journalDirectory, presence.owner(), log)
  const running = new Map<string, Running>()
  const cancels = new Set<() => void>()
  let closing = false
  let beatAt = clock.now()
  let lastAudit: LastAudit | undefined

  const settles = batchWriter<Settlement, SettleResult>({
    clock,
    idOf: ({ id }) => id,
    patienceMs: timings.settlePatienceMs,
    gatherMs: timings.settleGatherMs,
    write: batch => pool.guard(store => store.settle(batch)),
    onLate: settlement => journal(settlement, spill, closing),
    onFailure: error => log.warn({ err: error }, 'settlements could not be committed'),
  })
  const holds = batchWriter<HoldRequest | ExtendRequest, HoldResult>({
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
  const replays = batchWriter<Settlement, SettleResult>({
    clock,
    idOf: ({ id }) => id,
    patienceMs: timings.connectionTimeoutMs,
    write: batch => pool.guard(store => store.settle(batch)),
    async onLate() {
      throw unavailable()
    },
  })

  /** What the database refuses is told and given up: it would stand in the way of the rest for ever. */
  async function settleAll(settlements: readonly Settlement[]): Promise<void> {
    const results = await Promise.allSettled(settlements.map(settlement => replays.submit(settlement)))
    for (const [index, result] of results.entries()) {
      if (result.status === 'fulfilled') continue
      if (result.reason instanceof GatewayError) throw result.reason
      log.error({ err: result.reason, settlement: settlements[index]?.id }, 'a settlement was refused')
    }
  }

  /** Whether the hold was committed is not known, and a statement on its way may still commit it: frees it now and then. */
  function abandon(exchange: ExchangeReference): void {
    const free = () => {
      settles.submit(voidOf(exchange)).catch(error => log.error({ err: error }, 'a hold could not be freed'))
    }
    free()
    const cancel = clock.after(timings.statementTimeoutMs + timings.connectionTimeoutMs, () => {
      cancels.delete(cancel)
      free()
    })
    cancels.add(cancel)
  }

  async function settle(settlement: Settlement): Promise<SettleResult> {
    assertCost(settlement)
    const { id, costPico } = settlement
    const noted = running.get(id)?.notedPico
    running.delete(id)
    if (costPico !== (noted ?? 0n)) spill?.notes.add(settlement)
    try {
      return await settles.submit(settlement)
    } finally {
      spill?.notes.done(id)
    }
  }

  async function checkpoint(): Promise<void> {
    const advanced = new Map<string, bigint>()
    for (const [id, { costNano, stored }] of running) if (costNano > stored) advanced.set(id, costNano)
    if (running.size === 0) return
    const stops = await pool.guard(store => store.progress(presence.owner(), advanced))
    for (const [id, costNano] of advanced) {
      const exchange = running.get(id)
      if (exchange !== undefined) exchange.stored = costNano
    }
    for (const stop of stops) {
      const exchange = running.get(stop.id)
      if (exchange === undefined || exchange.stopped) continue
      exchange.stopped = true
      options.onStop?.(stop)
    }
  }

  async function beat(): Promise<void> {
    await spill?.journal.probe()
    await presence.beat()
    beatAt = clock.now()
    await checkpoint()
    spill?.notes.tidy()
    const reaped = await reap(pool.store(), timings.deadAfterMs)
    if (reaped.length > 0) log.warn({ holds: reaped.length }, 'settled holds without an owner')
    if (spill !== undefined && !spill.journal.isEmpty()) await spill.journal.replay(settleAll)
  }

  async function maintain(): Promise<void> {
    const store = pool.store()
    await store.makePartitions(MONTHS_AHEAD)
    for (const account of await store.accountsWithExpiredCredit(ACCOUNTS_AT_ONCE)) {
      await store.expireCredit(account, newId)
    }
    await store.rollUp()
    await spill?.adopt(settleAll)
  }

  async function inspect(): Promise<void> {
    // A little less, so that the same process is not one tick too early for ever.
    const { report, last } = await auditInTurn(options.databaseUrl, timings.auditMs * 0.9)
    lastAudit = last
    if (report === undefined) return
    const failures = report.checks.filter(({ count, informational }) => count > 0 && !informational)
    const findings = failures.map(({ name, count, first }) => ({ check: name, count, first }))
    if (report.ok) log.info({ checks: report.checks.length }, 'audit: the ledger holds')
    else {
      const suspended = report.suspendedAccounts
      log.error({ findings, broken: report.brokenAccounts, suspended }, 'audit: THE LEDGER DOES NOT HOLD')
    }
  }

  const state = (): LedgerState => {
    const failedAt = holds.failedAt()
    return {
      holdWaitMs: holds.waitMs(),
      holdFailureAgoMs: failedAt === undefined ? undefined : clock.now() - failedAt,
      openHolds: running.size,
      settlementsWaiting: settles.size(),
      journal: journalState(spill),
      processes: presence.alive(),
      lastAudit,
    }
  }

  const attempt = (what: string, act: () => Promise<void>) => {
    let busy = false
    return () => {
      if (busy) return
      busy = true
      act()
        .catch(error => log.error({ err: error }, `the ledger's ${what} failed`))
        .finally(() => {
          busy = false
        })
    }
  }
  await spill?.adopt(settleAll)
  cancels.add(clock.every(timings.heartbeatMs, attempt('heartbeat', beat)))
  cancels.add(clock.every(timings.maintenanceMs, attempt('maintenance', maintain)))
  cancels.add(clock.every(timings.auditMs, attempt('audit', inspect)))

  return {
    async hold(request) {
      const result = await holds.submit(request)
      if (result.granted) {
        running.set(request.id, { costNano: 0n, stored: 0n, stopped: false, notedPico: undefined })
      }
      return result
    },
    extend: request => holds.submit(request),
    settle,
    void: exchange => settle(voidOf(exchange)),
    entrusted(id) {
      running.delete(id)
    },
    progress(id, costNano) {
      const exchange = running.get(id)
      if (exchange !== undefined && costNano > exchange.costNano) exchange.costNano = costNano
    },
    note(settlement) {
      assertCost(settlement)
      const exchange = running.get(settlement.id)
      if (exchange === undefined) return
      exchange.notedPico = settlement.costPico
      spill?.notes.add(settlement)
    },
    post: posting => pool.store().post(posting),
    async createCodes({ count, ...terms }) {
      const codes = Array.from({ length: count }, () => mintCode(options.random))
      await pool.store().createCodes(codes.map(toHash), terms)
      return codes
    },
    async redeem(typedCode, accountId) {
      const hash = hashCode(typedCode) ?? new Uint8Array(32)
      return pool.store().redeem(newId(), hash, accountId)
    },
    balance: accountId => pool.store().balance(accountId),
    audit: auditOptions => audit(options.databaseUrl, auditOptions),
    healthy: () =>
      !closing &&
      spill?.journal.healthy() !== false &&
      clock.now() - beatAt < timings.deadAfterMs &&
      holds.waitMs() < timings.holdPatienceMs,
    state,
    processes: () => presence.alive(),
    beat,
    maintain,
    inspect,
    async close() {
      closing = true
      for (const cancel of cancels) cancel()
      await holds.drain()
      // Whoever waited for a hold settles in the turn of its answer.
      await new Promise(resolve => setImmediate(resolve))
      await settles.drain()
      await presence.leave().catch(error => log.warn({ err: error }, 'the ledger left without saying so'))
      await spill?.close()
      await pool.close()
    },
  }
}

/** An exchange with a hold. */
interface Running {
  costNano: bigint
  /** The cost at the last checkpoint. */
  stored: bigint
  stopped: boolean
  /** The cost that the notes have. */
  notedPico: bigint | undefined
}

/** The connections. A statement without an answer condemns all of them: its network is gone, and it would wait for long. */
function openPool(url: string, timings: LedgerTimings, clock: Clock) {
  const open = () =>
    connect(url, {
      max: CONNECTIONS,
      applicationName: 'tollgate ledger',
      statementTimeoutMs: timings.statementTimeoutMs,
    })
  let database: Database = open()
  let store = ledgerStore(database)
  return {
    store: () => store,
    async guard<Result>(act: (store: LedgerStore) => Promise<Result>): Promise<Result> {
      const used = database
      const cancel = clock.after(timings.connectionTimeoutMs, () => {
        if (used !== database) return
        database = open()
        store = ledgerStore(database)
        used.sql.end({ timeout: 0 })
      })
      return act(store).finally(cancel)
    },
    close: () => database.close(),
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
    return { outcome: 'journaled', chargedNano: 0n, overrunNano: 0n, availableNano: undefined }
  } catch (error) {
    if (closing) throw error
    return undefined
  }
}

function journalState(spill: Spill | undefined): LedgerState['journal'] {
  if (spill === undefined) return 'off'
  if (!spill.journal.healthy()) return 'full'
  return spill.journal.isEmpty() ? 'empty' : 'in use'
}

function voidOf({ id, accountId, keyId }: ExchangeReference): Settlement {
  return { id, accountId, keyId, costNano: 0n, costPico: 0n }
}

function assertCost({ id, costNano, costPico }: Settlement): void {
  if (costPico < 0n || costNano !== (costPico + 999n) / 1000n) {
    throw new Error(`the cost of ${id} is ${costPico} pico, which is not ${costNano} nano rounded up`)
  }
}

function toHash(code: string): Uint8Array {
  const hash = hashCode(code)
  if (hash === undefined) throw new Refusal(`"${code}" is not a redeem code`)
  return hash
}

function unavailable(): GatewayError {
  return new GatewayError('billing_unavailable', 'Billing is unavailable, try again in a moment', {
    retryAfterMs: 1_000,
  })
}
