import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import { judgeEarly, send } from '@/exchange/attempt/attempt.ts'
import { overCandidates, type Prepared, type Servable, type Try } from '@/exchange/attempt/failover.ts'
import { charge } from '@/exchange/billing/charge.ts'
import type { Meter } from '@/exchange/billing/meter.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import { type ExchangeRecord, endStateOf } from '@/exchange/record.ts'
import type { Watched } from '@/exchange/watchdog.ts'
import { withAnswerLosses } from '@/formats/lowering/caller-words.ts'
import { type AnswerEvents, Outlet, type OutletOptions } from './outlet.ts'
import type { Pipeline } from './pipeline.ts'
import { answerHeaders } from './reply.ts'

/** How one kind of streamed answer differs from another: conversations, event streams of operations, sounds. */
export interface Flow<P extends Prepared, F extends Pipeline> {
  outlet: OutletOptions
  /** Makes the pipeline from an upstream's bytes to the caller's. @param headers the upstream's */
  open(preparation: P, headers: Headers): F
  /** Called once something of an answer was let through: no other route will be tried. */
  committed?(preparation: P): void
  /** What an answer has used, at its end or where it was cut off; undefined: nothing. */
  used(pipeline: F): UsedUp | undefined
  /** Called by the watchdog to check that a running answer is still paid for; returns the error that it must end in. */
  look(pipeline: F): GatewayError | undefined
  /** Headers of the caller's answer; the pipeline is undefined if the head goes out before the upstream's. */
  headers(pipeline: F | undefined): Record<string, string>
}

/**
 * Relays a streamed answer. Returns when the head must be sent: at the first output of a route, or when the caller has
 * waited long enough. From then on errors are written into the stream, and `onEnd` is called once when all is over.
 * @throws GatewayError when every route failed before that; `onEnd` is not called then
 */
export async function relayFlow<P extends Prepared, F extends Pipeline>(
  admitted: Servable<P>,
  flow: Flow<P, F>,
  onEnd: () => void,
): Promise<Response> {
  const { gateway, record, interruption, reservation } = admitted
  const outlet = new Outlet(flow.outlet)
  const running = new Running(record.id, flow, outlet)
  gateway.watchdog.add(running)
  const leave = () => outlet.abandon()
  interruption.listen(leave)
  const work = relayFirstSuccess(admitted, running, leave)
  await outlet.opened
  const failure = outlet.isDue ? undefined : await work
  if (failure !== undefined) throw failure
  await reservation.granted
  void finishInBand(work, outlet, record, onEnd)
  const headers = answerHeaders(record, gateway.clock.now(), flow.headers(running.pipeline))
  // The headers have them now, and an answer that takes minutes need not keep them.
  record.limits = undefined
  return new Response(outlet.readable, { headers })
}

/**
 * Makes attempts until the answer of one has been written to the outlet. Never rejects: resolves with the failure, if all
 * failed. A hold that was refused is no failure here, as `granted` rejects with it.
 */
async function relayFirstSuccess<P extends Prepared, F extends Pipeline>(
  admitted: Servable<P>,
  running: Running<P, F>,
  leave: () => void,
): Promise<GatewayError | undefined> {
  const { outlet } = running
  let failure: GatewayError | undefined
  try {
    await overCandidates(admitted, one => new FlowingAttempt(admitted, running, one).run())
  } catch (error) {
    failure = asGatewayError(error)
  }
  admitted.gateway.watchdog.remove(running.id)
  admitted.interruption.unlisten(leave)
  outlet.giveUp()
  return failure
}

/** A running answer as the watchdog sees it: keepalives, stalls, and whether it is still paid for. */
class Running<P extends Prepared, F extends Pipeline> implements Watched {
  readonly id: string
  readonly flow: Flow<P, F>
  readonly outlet: Outlet
  /** The pipeline of the attempt that runs, or ran last; undefined while its answer has not begun. */
  pipeline: F | undefined

  constructor(id: string, flow: Flow<P, F>, outlet: Outlet) {
    this.id = id
    this.flow = flow
    this.outlet = outlet
  }

  tick(now: number): void {
    this.outlet.tick(now)
    const stop = this.pipeline === undefined ? undefined : this.flow.look(this.pipeline)
    if (stop !== undefined) this.outlet.stop(stop)
  }

  stop(error: GatewayError): void {
    this.outlet.stop(error)
  }
}

/** Waits for the end of an answer whose head was sent. An error in which it ends is written into the stream. */
async function finishInBand(
  work: Promise<GatewayError | undefined>,
  outlet: Outlet,
  record: ExchangeRecord,
  onEnd: () => void,
): Promise<void> {
  try {
    const failure = await work
    if (failure !== undefined) {
      record.error = failure
      // An answer that was cut stays so where telling that fails.
      if (record.endState !== 'upstream_cut') record.endState = endStateOf(failure)
      await outlet.fail(failure)
    }
    if (record.endState === 'client_gone') record.status = 499
  } catch (bug) {
    // Appears in the exchange's line of the log.
    record.error = asGatewayError(bug)
  } finally {
    onEnd()
  }
}

/**
 * One attempt and its streamed answer. An async function keeps its arguments alive until it returns, which here can be
 * minutes. So `run` has none, and the request is forgotten as soon as some of its answer was let through.
 */
class FlowingAttempt<P extends Prepared, F extends Pipeline> implements AnswerEvents {
  readonly #admitted: Servable<P>
  readonly #running: Running<P, F>
  #beginning: Try<P> | undefined

  constructor(admitted: Servable<P>, running: Running<P, F>, beginning: Try<P>) {
    this.#admitted = admitted
    this.#running = running
    this.#beginning = beginning
  }

  /** @throws GatewayError when the answer failed before any output */
  async run(): Promise<void> {
    const running = this.#running
    // That of an earlier attempt: nothing of its answer was given, so nothing of it is paid for.
    running.pipeline = undefined
    try {
      const { body, pipeline, idleMs } = await this.#begin()
      running.pipeline = pipeline
      await running.outlet.pipe(body, pipeline, idleMs, this)
    } catch (error) {
      throw judgeEarly(asGatewayError(error))
    } finally {
      this.#end()
    }
  }

  onFirstOutput(): void {
    const beginning = this.#beginning
    this.#beginning = undefined
    if (beginning === undefined) return
    this.#running.flow.committed?.(beginning.preparation)
    beginning.onFirstOutput()
  }

  onConclusion(): void {
    const used = this.#used()
    if (used !== undefined) this.#admitted.reservation.bill.note(used)
  }

  /** Sends the request, and opens the answer when its turn has come (answer-queue.ts). */
  async #begin() {
    if (this.#beginning === undefined) throw new Error('an attempt runs once')
    const { preparation, candidate } = this.#beginning
    const attempt = this.#running.outlet.beginAttempt()
    const { body, headers } = await send(this.#admitted, this.#beginning, attempt)
    await this.#admitted.gateway.answers.turn()
    if (body === null) throw emptyAnswer()
    const { idleMs } = candidate.route.channel.timeouts
    return { body, pipeline: this.#running.flow.open(preparation, headers), idleMs }
  }

  #used(): UsedUp | undefined {
    const { pipeline, flow, outlet } = this.#running
    if (pipeline === undefined) return undefined
    // What failed while it was held back reached nobody, however much of it had arrived.
    const isLost = pipeline.meter.error !== undefined && outlet.firstOutputMs === undefined
    return isLost ? undefined : flow.used(pipeline)
  }

  #end(): void {
    const { record, reservation } = this.#admitted
    takeReadings(record, this.#running.pipeline?.meter, this.#running.outlet)
    charge(record, this.#used(), reservation.bill)
  }
}

/** Records what the meter and the outlet saw, however the answer ended. */
function takeReadings(record: ExchangeRecord, meter: Meter | undefined, outlet: Outlet): void {
  record.firstByteMs = outlet.firstOutputMs
  record.error = meter?.error
  record.losses = withAnswerLosses(record.losses, meter?.losses)
  if (meter?.error !== undefined) record.endState = meter.cut ? 'upstream_cut' : endStateOf(meter.error)
  // A caller who hangs up once the answer has come to its end got all of it.
  else if (outlet.leftEarly) record.endState = 'client_gone'
  else record.endState = 'complete'
}

function emptyAnswer(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream answered with nothing', { retry: 'next-channel' })
}
