import type { JobMoney } from '@/db/schema.ts'
import { type LimitingDependencies, takeLimits } from '@/exchange/admission/limiting.ts'
import { type ChargeDependencies, type Reservation, reserve } from '@/exchange/billing/charge.ts'
import type { Quote } from '@/exchange/billing/quote.ts'
import type { UpstreamClient } from '@/upstream/client.ts'
import type { UpstreamRequest } from '@/upstream/request.ts'
import type { Interruption } from './interruption.ts'
import { callerOf, type ExchangeRecord } from './record.ts'

/**
 * Proof that a request was authenticated, has its place within the limits, and has its money set aside or nothing to pay.
 * No upstream can be called without one, and only this file makes them, so that code which goes around metering does not
 * compile.
 */
export type Pass = PassProof

class PassProof {
  /** Makes the type one of its own: no object but those made here has it. */
  protected readonly isProof = true
}

/** The upstream client as exchanges have it: it asks for the pass of the request. */
export type GuardedClient = (pass: Pass, request: UpstreamRequest) => Promise<Response>

/** Puts a client behind that question; nobody else is given the client itself. */
export function behindDoor(client: UpstreamClient): GuardedClient {
  return (_pass, request) => client(request)
}

/**
 * Takes the request's place within the limits and sets its money aside. Where credit is ample the hold is still on its way
 * when this returns; if it is refused, the exchange is interrupted. The record must name caller and model. No promise where
 * nobody has to be waited for.
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

/** What a request that is paid for proceeds with. */
interface Paid {
  pass: Pass
  reservation: Reservation
}

function paidBy(reservation: Reservation | Promise<Reservation>): Paid | Promise<Paid> {
  if (reservation instanceof Promise) return reservation.then(paidBy)
  return { pass: new PassProof(), reservation }
}

/** A job that was paid for already, or has its money set aside. */
interface PaidJob {
  readonly money: JobMoney
}

/** A pass for the gateway's own calls about a job that it took on: no caller waits for them, so no limit counts them. */
export function passOf(_job: PaidJob): Pass {
  return new PassProof()
}

/**
 * A pass for what costs nothing by itself: counting tokens, looking at something that was paid for when it was made.
 * @throws GatewayError of limits
 */
export async function admitFree(dependencies: LimitingDependencies, record: ExchangeRecord): Promise<Pass> {
  callerOf(record)
  await takeLimits(dependencies, record, { tokens: 0, guessedTokens: 0 })
  return new PassProof()
}
