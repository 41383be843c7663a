import { asGatewayError, type Blamed, GatewayError } from '@/errors/gateway-error.ts'
import type { Reservation } from '@/exchange/billing/charge.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import type { Interruption } from '@/exchange/interruption.ts'
import type { Pass } from '@/exchange/pass.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import type { ConversationTraits } from '@/routing/affinity.ts'
import { type Outcome, outcomeOf } from '@/routing/health/outcome.ts'
import type { Model, Route } from '@/routing/model.ts'
import { afterFailure, type Candidate, lastWhere } from '@/routing/order.ts'
import type { ChannelPlace } from '@/routing/selector.ts'
import type { Sendable } from './attempt.ts'

/** At most this many attempts for one request of the caller's, since clients retry as well. */
export const MAX_ATTEMPTS = 3

/** No further attempt is made once a request is this old: the SDKs give up after ten minutes. */
export const MAX_FAILOVER_MS = 300_000

/** A request as it will be sent to one route. */
export interface Prepared extends Sendable {
  /** Request fields that the upstream's format cannot say, in the caller's words. */
  losses: readonly string[]
  /** The service tier that is asked for, in the upstream's words, where that decides prices. */
  askedTier?: string | undefined
  /** Whether a summary of the conversation is asked for, in place of what the caller wants; no, unless said. */
  asksForSummary?: boolean
}

/** An exchange that was admitted: it has its place within the limits, and its money is set aside. */
export interface Admitted {
  gateway: Gateway
  record: ExchangeRecord
  model: Model
  pass: Pass
  /** The money that is set aside for it. */
  reservation: Reservation
  /** Says when the caller left, or when there turned out to be no money for the answer. */
  interruption: Interruption
}

/** An admitted exchange, the routes that can serve it, and how its request is written for one of them. */
export interface Servable<P extends Prepared> extends Admitted {
  /** The routes that can serve it. */
  routes: readonly Route[]
  /** What decides which of them is tried first. */
  traits: ConversationTraits
  /** @throws GatewayError for a request that cannot be said in the route's format */
  prepare: (route: Route) => P | Promise<P>
  /** From now on `prepare` leaves out what a candidate complains about; false if it did so already, or may not. */
  leaveOut?: (blamed: Blamed, refusedBy: Candidate) => boolean
  /** The same beforehand, for what the candidate refused before. */
  recallRefusal?: (candidate: Candidate) => void
}

/** One attempt: which candidate it is made on, and what is sent there. */
export interface Try<P extends Prepared> {
  preparation: P
  candidate: Candidate
  /** Which pool of connections it goes over. */
  pool: number
  /** To be called at the first output, so that the candidate's health is known before a long answer ends. */
  onFirstOutput: () => void
}

/**
 * Makes attempts, one candidate after another, until one succeeds. Goes on only while the failure says that another
 * candidate may do better: what fails once output was let through says that none may. A candidate in whose format the
 * request cannot be written is passed over. Candidates whose breakers are open are asked only where no other was, and then
 * only the first.
 * @throws GatewayError of the last attempt; where none was made, of the first candidate that was passed over; `no_channel`
 * where there was none, or another is full and that error would not pass
 */
export async function overCandidates<P extends Prepared, T>(
  admitted: Servable<P>,
  attempt: (one: Try<P>) => Promise<T>,
): Promise<T> {
  const { record, model } = admitted
  const { selector } = admitted.gateway
  const selection = selector.select(admitted.routes, admitted.traits)
  let candidates: readonly Candidate[] = [...selection.ready, ...selection.paused]
  let { someAreFull } = selection
  let failure: GatewayError | undefined
  let objection: GatewayError | undefined
  for (let attempts = 0; attempts < MAX_ATTEMPTS; ) {
    const [candidate, ...others] = candidates
    if (candidate === undefined) break
    candidates = others
    const place = selector.begin(candidate, record.id, isHeldBack(candidate))
    if (place === undefined) {
      someAreFull = true
      continue
    }
    admitted.recallRefusal?.(candidate)
    const result = await runAttempt(admitted, candidate, place, attempt)
    if (result instanceof Objection) {
      objection = sayingMore(objection, result.error)
      candidates = afterFailure(others, candidate, 'ignored')
      continue
    }
    attempts += 1
    if (!(result instanceof Failure)) {
      selector.served(selection, candidate)
      return result
    }
    failure = result.error
    const ready = others.filter(other => !isHeldBack(other))
    candidates = candidatesAfter(failure, admitted, candidate, ready)
  }
  const reason = failure ?? objection
  // What is full now may serve it soon. A failure that passes by itself may say when.
  if (reason === undefined || (someAreFull && !reason.callerMayRetry))
    throw noChannel(model.id, selection.retryAfterMs, reason)
  throw reason
}

/**
 * Who may be asked after an attempt failed.
 * @throws the failure itself where nobody may
 */
function candidatesAfter(
  failure: GatewayError,
  { gateway, record, leaveOut }: Servable<Prepared>,
  failed: Candidate,
  others: readonly Candidate[],
): readonly Candidate[] {
  const { blames } = failure
  // The reasoning of earlier turns was another vendor's, say: without it, the same candidate can answer.
  if (blames !== undefined && leaveOut?.(blames, failed) === true) return [failed, ...others]
  // Else reasoning can be read by whoever made it.
  if (failure.retry !== 'next-channel' && blames !== 'reasoning') throw failure
  if (gateway.clock.elapsed() - record.begunAt >= MAX_FAILOVER_MS) throw failure
  const { kind } = outcomeOf(failure)
  const rest = kind === 'ok' ? others : afterFailure(others, failed, kind)
  if (record.tries.length < MAX_ATTEMPTS - 1) return rest
  // A channel's keys may all be of one account at its vendor: the last attempt is another channel's, where there is one.
  const tried = new Set(record.tries.map(({ channel }) => channel))
  return lastWhere(rest, ({ route }) => tried.has(route.channel.name))
}

/** Whether a candidate's breaker is open, so that it is asked only where no other was. */
function isHeldBack({ standing }: Candidate): boolean {
  return standing.kind === 'paused'
}

/** Why an attempt failed; a class, so that it cannot be mistaken for whatever an attempt returns. */
class Failure {
  readonly error: GatewayError

  constructor(error: GatewayError) {
    this.error = error
  }
}

/** Why no attempt was made: the request cannot be written in the candidate's format. */
class Objection extends Failure {}

/** Of two objections the first, unless the other may pass. */
function sayingMore(first: GatewayError | undefined, other: GatewayError): GatewayError {
  return first === undefined || other.callerMayRetry ? other : first
}

/** Makes one attempt, and reports how it went to the breakers and the counters. Fails only by returning a `Failure`. */
async function runAttempt<P extends Prepared, T>(
  admitted: Servable<P>,
  candidate: Candidate,
  place: ChannelPlace,
  attempt: (one: Try<P>) => Promise<T>,
): Promise<T | Failure> {
  const { gateway, record } = admitted
  const pool = gateway.pools.take()
  const report = new AttemptReport(gateway, record, candidate.route.channel.name, place)
  let isPrepared = false
  try {
    const prepared = admitted.prepare(candidate.route)
    const preparation = prepared instanceof Promise ? await prepared : prepared
    isPrepared = true
    noteAttempt(record, candidate.route, preparation)
    const onFirstOutput = () => report.health({ kind: 'ok' })
    const result = await attempt({ preparation, candidate, pool, onFirstOutput })
    report.end(record.error)
    return result
  } catch (error) {
    const failure = asGatewayError(error)
    // Another may take it as it is, which needs no understanding and no memory.
    if (!isPrepared && (failure.status === 400 || failure.kind === 'overloaded')) {
      report.health({ kind: 'ignored' })
      return new Objection(failure)
    }
    report.end(failure)
    return new Failure(failure)
  } finally {
    gateway.pools.free(pool)
    place.release()
  }
}

/** Reports how an attempt goes to those who keep count. */
class AttemptReport {
  readonly #gateway: Gateway
  readonly #record: ExchangeRecord
  readonly #channel: string
  readonly #place: ChannelPlace
  /** Wall clock, for people to read. */
  readonly #startedAt: number
  /** The same moment by `clock.elapsed()`, to measure from. */
  readonly #begunAt: number
  #isHealthy = false

  constructor(gateway: Gateway, record: ExchangeRecord, channel: string, place: ChannelPlace) {
    this.#gateway = gateway
    this.#record = record
    this.#channel = channel
    this.#place = place
    this.#startedAt = gateway.clock.now()
    this.#begunAt = gateway.clock.elapsed()
  }

  /** To the breakers. A success is reported at the first output, and not again at the end of the answer. */
  health(outcome: Outcome): void {
    if (outcome.kind === 'ok' && this.#isHealthy) return
    this.#isHealthy = outcome.kind === 'ok'
    this.#place.report(outcome, this.#gateway.clock.elapsed() - this.#begunAt)
  }

  /** To the breakers, the metrics and the record, once the attempt is over. */
  end(error: GatewayError | undefined): void {
    const { clock, metrics } = this.#gateway
    this.health(error === undefined ? outcomeWithoutError(this.#record) : outcomeOf(error))
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

/** A caller who left says nothing about the upstream's health; that there was output has been reported when it came. */
function outcomeWithoutError({ endState }: ExchangeRecord): Outcome {
  return { kind: endState === 'client_gone' ? 'ignored' : 'ok' }
}

/** @param reason what came of those that were there */
function noChannel(
  model: string,
  retryAfterMs: number | undefined,
  reason: GatewayError | undefined,
): GatewayError {
  return new GatewayError('no_channel', `No channel serves the model '${model}' at the moment`, {
    retryAfterMs,
    detail: reason?.message,
  })
}

function noteAttempt(record: ExchangeRecord, { channel }: Route, prepared: Prepared): void {
  const { losses, askedTier, asksForSummary = false } = prepared
  record.attempts += 1
  record.channel = channel.name
  record.channelFormat = channel.format
  record.losses = losses
  record.askedTier = askedTier
  record.asksForSummary = asksForSummary
}
