import { GatewayError } from '@/errors/gateway-error.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import { inputTokens, outputTokens } from '@/generation/usage.ts'
import type { LimitAnswer } from '@/limits/answer.ts'
import { retryAfterSeconds } from '@/limits/headers.ts'
import type { Limiter } from '@/limits/limiter.ts'
import type { DefaultLimitValues, LimitName } from '@/limits/plan.ts'
import type { Log } from '@/telemetry/log.ts'

/** What an exchange needs to be counted. */
export interface LimitingDependencies {
  limiter: Limiter
  /** What holds for whoever has no limits of their own. */
  limits: () => DefaultLimitValues
  /** Numbers in [0, 1). */
  random: () => number
  log: Log
}

/**
 * Takes the exchange's place within the limits of key, account and model. `tokens` is the estimate of its prompt and of
 * what it may answer, `guessedTokens` the part of that which nobody stated. Fills in the record's limits, which every
 * answer tells. Undefined: that is done already.
 * @throws GatewayError `rate_limited`, `too_many_concurrent`; `invalid_request` for what never fits; `overloaded`
 */
export function takeLimits(
  dependencies: LimitingDependencies,
  record: ExchangeRecord,
  { tokens, guessedTokens }: { tokens: number; guessedTokens: number },
): Promise<void> | undefined {
  const { id, caller, model } = record
  if (caller === undefined || model === undefined) return undefined
  const { limiter, limits, random } = dependencies
  const answer = limiter.take({ id, caller, defaults: limits(), model, tokens, guessedTokens })
  if (answer instanceof Promise) return answer.then(told => takeIn(record, told, random))
  takeIn(record, answer, random)
  return undefined
}

function takeIn(record: ExchangeRecord, answer: LimitAnswer, random: () => number): void {
  record.limits = answer.limits
  record.limitsAreDegraded = answer.degraded
  if (answer.allowed) {
    record.lease = answer.lease
    return
  }
  throw refusal(answer.bucket, answer.never, retryAfterSeconds(answer.retryAfterMs, random()) * 1000)
}

/**
 * Ends the exchange's place within the limits: what it really used takes the place of the estimate, and one that was
 * turned away after all gets everything back. Nobody waits for it.
 */
export function endLimits({ limiter, log }: LimitingDependencies, record: ExchangeRecord): void {
  const { lease, usage, endState } = record
  if (lease === undefined) return
  const ended =
    endState === 'refused'
      ? limiter.refund(lease)
      : limiter.end(lease, usage === undefined ? 0 : inputTokens(usage) + outputTokens(usage))
  ended?.catch(error =>
    log.warn({ err: error, request_id: record.id }, 'a place within the limits could not be ended'),
  )
}

function refusal(bucket: LimitName | undefined, never: boolean, retryAfterMs: number): GatewayError {
  if (bucket === undefined) {
    return new GatewayError('overloaded', 'Limits cannot be counted at the moment', { retryAfterMs })
  }
  const whose = bucket.scope === 'account-model' ? 'account on this model' : bucket.scope
  if (never) {
    return new GatewayError(
      'invalid_request',
      `This request is larger than all the ${bucket.kind} that its ${whose} may use in a minute`,
    )
  }
  return bucket.kind === 'concurrent'
    ? new GatewayError('too_many_concurrent', `Too many requests of this ${whose} are running`, {
        retryAfterMs,
      })
    : new GatewayError('rate_limited', `The limit of ${bucket.kind} per minute of this ${whose} is reached`, {
        retryAfterMs,
      })
}
