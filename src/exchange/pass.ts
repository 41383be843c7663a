import { type LimitingDependencies, takeLimits } from '@/exchange/admission/limiting.ts'
import { type ChargeDependencies, type Reservation, reserve } from '@/exchange/billing/charge.ts'
import type { Quote } from '@/exchange/billing/quote.ts'
import type { UpstreamClient } from '@/upstream/client.ts'
import type { UpstreamRequest } from '@/upstream/request.ts'
import type { Interruption } from './interruption.ts'
import { callerOf, type ExchangeRecord } from './record.ts'

/**
 * Proof that a request was authenticated, has its place within the limits, and its money set aside or none to pay.
 * No upstream can be called without one, and only this file makes them: a way around metering cannot be written down.
 */
export type Pass = PassProof

class PassProof {
  /** Makes the type one of its own: no object but those made here has it. */
  readonly #isProof = true

  get isProof(): boolean {
    return this.#isProof
  }
}

/** The upstream client as the gateway keeps it: it wants to see the pass of the request. */
export type GuardedClient = (pass: Pass, request: UpstreamRequest) => Promise<Response>

/** Puts the client behind the one door. */
export function behindDoor(client: UpstreamClient): GuardedClient {
  return (_pass, request) => client(request)
}

/**
 * Takes the request's place within the limits and sets its money aside, which may fail later and interrupts the exchange
 * then. The record must name caller and model. At once where nobody has to be asked before the upstream is.
 * @throws GatewayError of limits and of money
 */
export function admitPaid(
  dependencies: LimitingDependencies & ChargeDependencies,
  record: ExchangeRecord,
  quote: Quote,
  interruption: Interruption,
): Paid | Promise<Paid> {
  callerOf(record)
  const { inputTokens, allowance, isAllowanceStated } = quote
  const limited = takeLimits(dependencies, record, {
    tokens: inputTokens + allowance,
    guessedTokens: isAllowanceStated ? 0 : allowance,
  })
  const hold = () => paidBy(reserve(dependencies, record, quote, interruption))
  return limited === undefined ? hold() : limited.then(hold)
}

/** What a request that is paid for goes on with. */
interface Paid {
  pass: Pass
  reservation: Reservation
}

function paidBy(reservation: Reservation | Promise<Reservation>): Paid | Promise<Paid> {
  if (reservation instanceof Promise) return reservation.then(paidBy)
  return { pass: new PassProof(), reservation }
}

/** What was paid for already, or has its money set aside. */
export interface Order {
  readonly money: 'held' | 'charged' | 'released'
}

/** The same for the gateway's own looking after an order that it took: no caller waits for it, so no limit counts it. */
export function passOf(_order: Order): Pass {
  return new PassProof()
}

/**
 * The same for what costs nothing by itself: counting tokens, looking at something that was paid for when it was made.
 * @throws GatewayError of limits
 */
export async function admitFree(dependencies: LimitingDependencies, record: ExchangeRecord): Promise<Pass> {
  callerOf(record)
  await takeLimits(dependencies, record, { tokens: 0, guessedTokens: 0 })
  return new PassProof()
}
