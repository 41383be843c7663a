import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import type { Interruption } from '@/exchange/interruption.ts'
import type { Pass } from '@/exchange/pass.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import type { ConversationTraits } from '@/routing/affinity.ts'
import { type Outcome, outcomeOf } from '@/routing/health/health-outcome.ts'
import type { Model, Route } from '@/routing/model.ts'
import { afterFailure, type Candidate } from '@/routing/order.ts'
import type { Attempt } from '@/routing/selector.ts'
import type { Sendable } from './attempt.ts'

/** At most this many upstream requests for one of the caller's: clients retry as well. */
export const MAX_ATTEMPTS = 3

/** No other candidate is tried once a request is this old: the SDKs' own patience ends after ten minutes. */
export const MAX_FAILOVER_MS = 300_000

/** A request made ready for one route. */
export interface Prepared extends Sendable {
  /** Request fields that the upstream's format cannot say, in the caller's words. */
  losses: readonly string[]
}

/** An exchange that was admitted, and how it is made ready for a route. */
export interface Admitted<P extends Prepared> {
  gateway: Gateway
  record: ExchangeRecord
  pass: Pass
  model: Model
  /** The routes that can serve it. */
  routes: readonly Route[]
  /** What tells which of them are tried first. */
  traits: ConversationTraits
  /** @throws GatewayError for what the route cannot be asked for */
  prepare: (route: Route) => P | Promise<P>
  /** Has later preparations leave out the reasoning of earlier turns; false if they do already. */
  forgetReasoning?: () => boolean
  /** Tells when the caller leaves, and when there is no money for the answer. */
  interruption: Interruption
}

/** One try on one candidate. */
export interface Try<P extends Prepared> {
  preparation: P
  candidate: Candidate
  /** Which pool of connections it goes over. */
  lane: number
  /** To be called at the first output, so that the candidate's health is known before a long answer ends. */
  onFirstOutput: () => void
}

/**
 * Runs `attempt` on one candidate after the other, as long as the failure says that another may do better and
 * `mayRetry` allows it. What the breakers hold back is a last resort.
 * @throws GatewayError of the last attempt, or `no_channel`
 */
export async function overCandidates<P extends Prepared, T>(
  admitted: Admitted<P>,
  attempt: (one: Try<P>) => Promise<T>,
  mayRetry: () => boolean = () => true,
): Promise<T> {
  const { gateway, record, model } = admitted
  const { selector } = gateway
  const selection = selector.select(admitted.routes, admitted.traits)
  const lastResort = selection.ready.length === 0
  let rest = lastResort ? selection.paused.slice(0, 1) : selection.ready
  let failure: GatewayError | undefined
  for (let tries = 0; tries < MAX_ATTEMPTS; ) {
    const [candidate, ...others] = rest
    if (candidate === undefined) break
    const place = selector.begin(candidate, record.id, { lastResort })
    rest = others
    if (place === undefined) continue
    tries += 1
    const result = await settle(admitted, candidate, place, attempt)
    if (!(result instanceof Failure)) {
      selector.served(selection, candidate)
      return result
    }
    failure = result.error
    if (failure.blames === 'reasoning' && mayRetry() && admitted.forgetReasoning?.() === true) {
      // Somebody else made it. Without it the same candidate can answer.
      rest = [candidate, ...others]
      continue
    }
    if (failure.retry !== 'next-channel' || !mayRetry()) throw failure
    if (gateway.clock.elapsed() - record.begunAt >= MAX_FAILOVER_MS) throw failure
    const outcome = outcomeOf(failure)
    if (outcome.kind !== 'ok' && outcome.kind !== 'ignored')
      rest = afterFailure(rest, candidate, outcome.kind)
  }
  throw failure ?? noChannel(model.id, selection.retryAfterMs)
}

/** Why an attempt came to nothing; a type of its own, since an attempt may return anything. */
class Failure {
  readonly error: GatewayError

  constructor(error: GatewayError) {
    this.error = error
  }
}

/** Runs one attempt and tells how it went: to the breakers, to the counters. */
async function settle<P extends Prepared, T>(
  admitted: Admitted<P>,
  candidate: Candidate,
  place: Attempt,
  attempt: (one: Try<P>) => Promise<T>,
): Promise<T | Failure> {
  const { gateway, record } = admitted
  const lane = gateway.lanes.take()
  const teller = new Teller(gateway, record, candidate.route.channel.name, place)
  try {
    const prepared = admitted.prepare(candidate.route)
    const preparation = prepared instanceof Promise ? await prepared : prepared
    noteAttempt(record, candidate.route, preparation)
    const onFirstOutput = () => teller.report({ kind: 'ok' })
    const result = await attempt({ preparation, candidate, lane, onFirstOutput })
    teller.tell(record.error)
    return result
  } catch (error) {
    const failure = asGatewayError(error)
    teller.tell(failure)
    return new Failure(failure)
  } finally {
    gateway.lanes.free(lane)
    place.release()
  }
}

/** Tells how an attempt goes. */
class Teller {
  readonly #gateway: Gateway
  readonly #record: ExchangeRecord
  readonly #channel: string
  readonly #place: Attempt
  readonly #startedAt: number
  /** The same as the clock's `elapsed` says it. */
  readonly #begunAt: number
  #gaveOutput = false

  constructor(gateway: Gateway, record: ExchangeRecord, channel: string, place: Attempt) {
    this.#gateway = gateway
    this.#record = record
    this.#channel = channel
    this.#place = place
    this.#startedAt = gateway.clock.now()
    this.#begunAt = gateway.clock.elapsed()
  }

  /** To the breakers. An answer that flows to its end has told already, and counts once. */
  report(outcome: Outcome): void {
    if (outcome.kind === 'ok' && this.#gaveOutput) return
    this.#gaveOutput = outcome.kind === 'ok'
    this.#place.report(outcome, { firstByteMs: this.#gateway.clock.elapsed() - this.#begunAt })
  }

  /** To everybody, when it is over. */
  tell(error: GatewayError | undefined): void {
    const { clock, metrics } = this.#gateway
    this.report(error === undefined ? outcomeWithoutError(this.#record) : outcomeOf(error))
    const outcome = error?.kind ?? 'ok'
    metrics.attempts.of(this.#channel, outcome).add()
    this.#record.tries.push({
      channel: this.#channel,
      startedAt: this.#startedAt,
      endedAt: clock.now(),
      outcome,
    })
  }
}

/** Where a caller left before the upstream gave any output, nothing is known of it. */
function outcomeWithoutError(record: ExchangeRecord): Outcome {
  return { kind: record.endState === 'client_gone' && record.firstByteMs === undefined ? 'ignored' : 'ok' }
}

function noChannel(model: string, retryAfterMs: number | undefined): GatewayError {
  return new GatewayError('no_channel', `No channel serves the model '${model}' at the moment`, {
    retryAfterMs,
  })
}

function noteAttempt(record: ExchangeRecord, { channel }: Route, { losses }: Prepared): void {
  record.attempts += 1
  record.channel = channel.name
  record.channelFormat = channel.format
  record.losses = losses
}
