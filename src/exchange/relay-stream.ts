import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import { createArrayFramer } from '@/formats/gemini-generate-content/json-array.ts'
import { CODECS } from '@/formats/registry.ts'
import { runMachine } from '@/generation/machine.ts'
import { AnswerPipeline } from './answer-pipeline.ts'
import { judgeEarly, send } from './attempt.ts'
import type { Bill } from './bill.ts'
import { charge } from './charge.ts'
import type { Meter } from './meter.ts'
import { Outlet } from './outlet.ts'
import type { Prompt } from './prompt.ts'
import { type ExchangeRecord, endStateOf } from './record.ts'
import { answerHeaders, streamHeaders } from './reply.ts'
import { type Admitted, overCandidates, type Try } from './routes.ts'

/**
 * A caller who wants a stream. Returns when the head must be sent: with the first output of a route, or when the
 * caller has waited long enough. From then on errors are in-band, and `onEnd` is called once when all is over.
 * @throws GatewayError when every route failed before that; `onEnd` is not called then
 */
export async function relayStream(admitted: Admitted, onEnd: () => void): Promise<Response> {
  const { gateway, record, prompt, signal, reservation } = admitted
  const outlet = createOutlet(admitted)
  const watched = { tick: (now: number) => watch(outlet, reservation.bill, now) }
  const leave = () => outlet.abandon()
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  gateway.watchdog.add(watched)
  gateway.running.set(record.id, error => outlet.stop(error))
  const work = drive(admitted, outlet).finally(() => {
    gateway.watchdog.remove(watched)
    gateway.running.delete(record.id)
    signal.removeEventListener('abort', leave)
  })
  // Refused money aborts the signal, and with it the work; the reason is the hold's to tell.
  work.catch(() => undefined)
  await Promise.race([outlet.opened, work])
  await reservation.granted
  finishInBand(work, outlet, record).finally(onEnd)
  return new Response(outlet.readable, {
    headers: { ...streamHeaders(prompt.framing), ...answerHeaders(record, prompt, gateway.clock.now()) },
  })
}

/** Looks after a running stream: keepalives and stalls, and whether it is still paid for. */
function watch(outlet: Outlet, bill: Bill, now: number): void {
  outlet.tick(now)
  const { meter } = outlet
  const stop = meter === undefined ? undefined : bill.tick(meter)
  if (stop !== undefined) outlet.stop(stop)
}

/** Waits for the end of a stream whose head is out, and writes the error that it may end in. */
async function finishInBand(work: Promise<void>, outlet: Outlet, record: ExchangeRecord): Promise<void> {
  try {
    await work
  } catch (error) {
    const failure = asGatewayError(error)
    record.error = failure
    record.endState = endStateOf(failure, record.endState === 'upstream_cut')
    await outlet.fail(failure)
  }
  if (record.endState === 'client_gone') record.status = 499
}

/** Tries routes until one has written its answer to the outlet; the first output decides which one it is. */
async function drive(admitted: Admitted, outlet: Outlet): Promise<void> {
  await overCandidates(
    admitted,
    one => streamFrom(admitted, outlet, one),
    () => !outlet.committed,
  )
}

async function streamFrom(
  { gateway, record, prompt, reservation }: Admitted,
  outlet: Outlet,
  { preparation, candidate, place }: Try,
): Promise<void> {
  const attempt = outlet.beginAttempt()
  const pipeline = new AnswerPipeline(prompt, preparation)
  const { client, clock } = gateway
  try {
    const response = await send(preparation, candidate, { client, now: clock.now, signal: attempt.signal })
    if (response.body === null) throw emptyAnswer()
    const firstOutput = (firstByteMs: number) => place.report({ kind: 'ok' }, { firstByteMs })
    await outlet.pipe(response.body, pipeline, candidate.route.channel.timeouts.idleMs, firstOutput)
  } catch (error) {
    throw judgeEarly(asGatewayError(error), pipeline.meter.cut)
  } finally {
    takeReadings(record, pipeline.meter, outlet)
    charge(record, reservation.bill.usedUp(pipeline.meter), reservation.bill)
  }
}

/** What the meter saw goes to the record, whichever way the answer ended. */
function takeReadings(record: ExchangeRecord, meter: Meter, outlet: Outlet): void {
  record.firstByteMs = outlet.firstOutputMs
  record.error = meter.error
  if (meter.error !== undefined) record.endState = endStateOf(meter.error, meter.cut)
  // A caller who hangs up once the answer has come to its end got all of it.
  else if (outlet.abandoned && !meter.finished) record.endState = 'client_gone'
  else record.endState = 'complete'
}

function createOutlet({ gateway, record, prompt }: Admitted): Outlet {
  return new Outlet({
    clock: gateway.clock,
    keepalive: Buffer.from(CODECS[prompt.format].keepalive),
    breakAfterError: prompt.format === 'gemini-generate-content',
    encodeError: error => Buffer.from(encodeLoneError(error, prompt, record.id)),
  })
}

/** An error as the only event of a stream. */
function encodeLoneError(error: GatewayError, prompt: Prompt, requestId: string): string {
  const event = CODECS[prompt.format].encodeErrorEvent(error, requestId, undefined)
  return prompt.framing === 'json-array' ? runMachine(createArrayFramer(), [event]).join('') : event
}

function emptyAnswer(): GatewayError {
  return new GatewayError('upstream_error', 'The upstream answered with nothing', { retry: 'next-channel' })
}
