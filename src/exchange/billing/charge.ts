import type { Clock } from '@/clock/clock.ts'
import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import type { Interruption } from '@/exchange/interruption.ts'
import { callerOf, type ExchangeRecord } from '@/exchange/record.ts'
import { wholeCounts } from '@/generation/usage.ts'
import type { Ledger, LedgerState } from '@/ledger/ledger.ts'
import type { SettleResult } from '@/ledger/types.ts'
import type { Log } from '@/telemetry/log.ts'
import type { Metrics } from '@/telemetry/metrics.ts'
import { Bill } from './bill.ts'
import type { CreditWatch } from './credit.ts'
import type { Quote } from './quote.ts'
import type { UsedUp } from './used-up.ts'

/** What an exchange needs to pay. */
export interface ChargeDependencies {
  ledger: Ledger
  credit: CreditWatch
  clock: Clock
  log: Log
  metrics: Metrics
  /** Charges, and holds given back, that wait for the ledger's answer. */
  settling: Set<Promise<void>>
}

/** The hold of an exchange that may begin. */
export interface Reservation {
  bill: Bill
  /** The output limit that the request must get, since the balance pays for no more; undefined: none. */
  outputLimit: number | undefined
  /**
   * Resolves when the hold is durable. Until then no byte reaches the caller. Rejects once the hold was refused after the
   * upstream was called already; the exchange is interrupted then.
   */
  granted: Promise<unknown>
}

/**
 * Sets money aside. The upstream may be called before the hold is durable if the account's credit is ample and the
 * ledger well, and this returns at once; else it resolves with the hold. One that is refused after that interrupts.
 * @throws GatewayError of 402, `billing_unavailable`
 */
export function reserve(
  dependencies: ChargeDependencies,
  record: ExchangeRecord,
  quote: Quote,
  interruption: Interruption,
): Reservation | Promise<Reservation> {
  const { ledger, credit, clock, metrics } = dependencies
  const caller = callerOf(record)
  const exchange = { id: record.id, accountId: caller.accountId, keyId: caller.keyId }
  const bill = new Bill({
    ledger,
    credit,
    exchange,
    quote,
    now: clock.now,
    asked: () => record.channelFormat && { format: record.channelFormat, tier: record.askedTier },
  })
  const state = ledger.state()
  if (!state.healthy) {
    throw new GatewayError('billing_unavailable', 'Billing is unavailable, try again in a moment')
  }
  const early =
    quote.mayBeginEarly &&
    !caller.onTrial &&
    isPrompt(state) &&
    credit.isAmple(caller.accountId, bill.expectedNano)
  const granted = bill.reserve()
  if (!early) return granted.then(outputLimit => ({ bill, outputLimit, granted }))
  granted.catch(error => {
    credit.distrust(caller.accountId)
    metrics.wastedStarts.inc()
    metrics.wastedNano.inc(Number(quote.bound(0)))
    interruption.interrupt(asGatewayError(error))
  })
  return { bill, outputLimit: undefined, granted }
}

/** How long a hold may wait before nothing is begun without one. */
const LONG_WAIT_MS = 50

/** A failed batch of holds is held against the ledger this long. */
const FAILURE_MS = 2_000

function isPrompt({ holdWaitMs, holdFailureAgoMs }: LedgerState): boolean {
  return holdWaitMs < LONG_WAIT_MS && (holdFailureAgoMs === undefined || holdFailureAgoMs > FAILURE_MS)
}

/** Notes what an exchange has used and what that costs; undefined is nothing. */
export function charge(record: ExchangeRecord, used: UsedUp | undefined, bill: Bill): void {
  record.usage = used && wholeCounts(used.usage)
  record.extras = used?.extras
  record.usageSource = used?.source
  record.charge = used && bill.charge(used)
}

/**
 * Charges what was noted, or gives the hold back. No caller waits for it, and it does not fail: what cannot be committed is
 * journaled, and what the database refuses is kept to be tried again. Resolves with the answer of the ledger.
 */
export function closeBill(
  dependencies: ChargeDependencies,
  record: ExchangeRecord,
  reservation: Reservation,
): Promise<void> {
  const { settling } = dependencies
  const closed = endBill(dependencies, record, reservation).then(() => {
    settling.delete(closed)
  })
  settling.add(closed)
  return closed
}

async function endBill(
  { log, metrics }: ChargeDependencies,
  record: ExchangeRecord,
  reservation: Reservation,
): Promise<void> {
  const { bill, granted } = reservation
  try {
    await granted
    if (record.charge === undefined) await bill.release()
    else count(metrics, record, await bill.settle(record.charge))
  } catch (error) {
    // The hold was refused, which its caller was told.
    if (error instanceof GatewayError) return
    log.error({ err: error, request_id: record.id }, 'an exchange could not be settled')
  }
}

function count(metrics: Metrics, record: ExchangeRecord, { outcome, overrunNano }: SettleResult): void {
  metrics.charges.of(record.usageSource ?? 'estimated', outcome).add()
  if (overrunNano > 0n) metrics.overrunNano.inc(Number(overrunNano))
}
