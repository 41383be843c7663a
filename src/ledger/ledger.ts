import type { Clock } from '@/clock/clock.ts'
import { pause, within } from '@/clock/wait.ts'
import { Refusal } from '@/errors/refusal.ts'
import { openSpill, type Spill } from '@/ledger/spill/spill.ts'
import type { Log } from '@/telemetry/log.ts'
import { Adoption } from './adoption.ts'
import type { LastAudit } from './audit.ts'
import { openBatches, releaseOf } from './batches.ts'
import { openPool } from './pool.ts'
import { register } from './presence.ts'
import { RunningHolds } from './running.ts'
import { type LedgerTimings, TIMINGS } from './timings.ts'
import type {
  ExchangeReference,
  ExtendRequest,
  HoldRequest,
  HoldResult,
  Settlement,
  SettleResult,
  Stop,
} from './types.ts'
import { Upkeep } from './upkeep.ts'

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
  release(exchange: ExchangeReference): Promise<SettleResult>
  /**
   * Another answers for the hold of a running exchange from now on: a job in the database, which took it over
   * (ledger_entrust) and settles or releases it when it ends, in whichever process.
   */
  entrusted(id: string): void
  /**
   * Tells what a running exchange has cost so far, for the case that this process dies. Returns at once. Of one that has no
   * hold, or has its charge, nothing is taken; nor by `note`.
   */
  progress(id: string, costNano: bigint): void
  /**
   * Notes what an exchange is about to be charged, when its answer is about to be given: if this process dies before
   * `settle`, its successor charges that. Returns at once.
   */
  note(settlement: Settlement): void
  /** Gives back what exchanges were charged, as far as it was not given back before. Repeating it changes nothing. */
  giveBack(exchanges: readonly Pick<ExchangeReference, 'id' | 'accountId'>[], reason: string): Promise<void>
  state(): LedgerState
  /** Processes that are alive, this one included. */
  processes(): number
  /** Heartbeat, checkpoints, reaper, journal. Called by the clock; a test calls it itself. */
  beat(): Promise<void>
  /** See `Upkeep`. Called by the clock; a test calls it itself. */
  maintain(): Promise<void>
  /** The audit of what is new, if it is this process's turn. Called by the clock; a test calls it itself. */
  inspect(): Promise<void>
  /** Waits for what was submitted, and leaves. What cannot be committed is in the journal. */
  close(): Promise<void>
}

/** What an admission rule or a metric wants to know. */
export interface LedgerState {
  /** Whether new exchanges may be admitted. */
  healthy: boolean
  /** How long the oldest hold has waited for its answer, in ms. */
  holdWaitMs: number
  /** Since a batch of holds failed, in ms; undefined: none did. */
  holdFailureAgoMs: number | undefined
  /** Exchanges of this process that have a hold. */
  openHolds: number
  settlementsWaiting: number
  journal: 'off' | 'empty' | 'in use' | 'full'
  /** Undefined: none was made yet, or this process has not asked. */
  lastAudit: LastAudit | undefined
}

/** What a process opens the ledger with. */
export interface LedgerOptions {
  databaseUrl: string
  /** Where settlements go that cannot be committed, shared by the processes of a machine; undefined: memory only. */
  journalDirectory: string | undefined
  /** Where this process runs, for people. */
  address: string
  clock: Clock
  log: Log
  /**
   * Called whenever what dead processes left in their journals has been posted: what else they left may be taken in,
   * until it is to stop.
   */
  onAdopted?(signal: AbortSignal): Promise<void>
  /** Told once of each running exchange that must end: its key was revoked, its account suspended, its hold taken. */
  onStop?(stop: Stop): void
  /**
   * The ledger's connections led to a server that is silent or takes no writes, and were given up.
   * @param isAgain nothing was answered since the last time
   */
  onConnectionsLost?(isAgain: boolean): void
  /** The database takes writes again. */
  onConnectionsBack?(): void
  timings?: Partial<LedgerTimings> | undefined
}

/** Registers this process, begins to post what dead ones left in their journals, and the upkeep. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { clock, log, databaseUrl } = options
  const timings = { ...TIMINGS, ...options.timings }
  // Closed from the last to the first, also where a later one cannot be opened.
  await using opened = new AsyncDisposableStack()
  const { onConnectionsLost: onLost, onConnectionsBack: onBack } = options
  const pool = openPool(databaseUrl, timings, clock, { onLost, onBack })
  opened.defer(() => pool.close())
  // The upkeep is a minute away, and nobody may have been here for months.
  await pool.store.makePartitions().catch(err => log.error({ err }, 'partitions could not be made'))
  const presence = await register(pool.store, options.address)
  const spill =
    options.journalDirectory === undefined
      ? undefined
      : await openSpill(options.journalDirectory, presence.owner(), log)
  opened.defer(() => spill?.close())
  opened.defer(() => presence.leave().catch(err => log.warn({ err }, 'the ledger left without saying so')))
  const shared = { pool, presence, spill, clock, log, timings }
  const { holds, ...batches } = openBatches(shared)
  const { settles } = batches
  opened.defer(() => batches.close())
  const running = new RunningHolds()
  const onStop = (stop: Stop) => options.onStop?.(stop)
  const adoption = new Adoption(async signal => {
    await spill?.adopt(batches.settleAll, signal)
    await options.onAdopted?.(signal)
  })
  const upkeep = new Upkeep({ ...shared, ...batches, databaseUrl, running, adoption, onStop })
  opened.defer(() => upkeep.stop())
  let closing = false

  async function settle(settlement: Settlement): Promise<SettleResult> {
    assertCost(settlement)
    const { id, costPico } = settlement
    const noted = running.end(id)
    if (costPico !== (noted ?? 0n)) spill?.notes.add(settlement)
    const result = await batches.settle(settlement)
    // One that nothing took stays noted, for the next process.
    spill?.notes.done(id)
    return result
  }

  /** Asks again where the account's last answers had set credit aside that is free once their charges are posted. */
  async function onceCharged(request: HoldRequest | ExtendRequest, result: HoldResult): Promise<HoldResult> {
    if (result.granted || result.reason !== 'credit_reserved') return result
    const charged = settles.answered(({ accountId }) => accountId === request.accountId)
    const chargedElsewhere = pause(presence.alive() > 1 ? timings.settleTravelMs : 0, clock)
    await Promise.all([within(timings.holdPatienceMs, charged, clock), chargedElsewhere])
    return await holds.submit(request)
  }

  const state = (): LedgerState => {
    const failedAt = holds.failedAt()
    const holdWaitMs = holds.waitMs()
    return {
      healthy:
        !closing &&
        spill?.journal.healthy() !== false &&
        clock.elapsed() - upkeep.beatAt < timings.deadAfterMs &&
        holdWaitMs < timings.holdPatienceMs,
      holdWaitMs,
      holdFailureAgoMs: failedAt === undefined ? undefined : clock.elapsed() - failedAt,
      openHolds: running.size,
      settlementsWaiting: settles.size(),
      journal: journalState(spill),
      lastAudit: upkeep.lastAudit,
    }
  }

  const adopted = adoption
    .run()
    .catch(err => log.error({ err }, 'what dead processes left could not be taken in'))
  await within(timings.adoptionPatienceMs, adopted, clock)
  upkeep.start()
  const parts = opened.move()

  return {
    async hold(request) {
      const first = await holds.submit(request)
      const result = first.granted ? first : await onceCharged(request, first)
      if (result.granted) running.begin(request.id)
      return result
    },
    async extend(request) {
      return onceCharged(request, await holds.submit(request))
    },
    settle,
    release: exchange => settle(releaseOf(exchange)),
    entrusted: id => void running.end(id),
    progress: (id, costNano) => running.progress(id, costNano),
    note(settlement) {
      assertCost(settlement)
      if (running.note(settlement)) spill?.notes.add(settlement)
    },
    async giveBack(exchanges, reason) {
      for (const { id: ref, ...due } of await pool.store.notGivenBack(exchanges)) {
        const posting = { ...due, id: Bun.randomUUIDv7(), kind: 'usage_refund', ref, reason } as const
        // Refused: another process gave it back this moment.
        await pool.store.post(posting).catch(unlessRefused)
      }
    },
    state,
    processes: () => presence.alive(),
    beat: () => upkeep.beat(),
    maintain: () => upkeep.maintain(),
    inspect: () => upkeep.inspect(),
    close() {
      closing = true
      return parts.disposeAsync()
    },
  }
}

function journalState(spill: Spill | undefined): LedgerState['journal'] {
  if (spill === undefined) return 'off'
  if (!spill.journal.healthy()) return 'full'
  return spill.journal.isEmpty() ? 'empty' : 'in use'
}

function assertCost({ id, costNano, costPico }: Settlement): void {
  if (costPico < 0n || costNano !== (costPico + 999n) / 1000n) {
    throw new Error(`the cost of ${id} is ${costPico} pico, which is not ${costNano} nano rounded up`)
  }
}

function unlessRefused(error: unknown): void {
  if (!(error instanceof Refusal)) throw error
}
