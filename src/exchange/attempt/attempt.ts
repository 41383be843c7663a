import type { GatewayError } from '@/errors/gateway-error.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import type { Interruption } from '@/exchange/interruption.ts'
import type { Pass } from '@/exchange/pass.ts'
import { decodeFault, faultOf } from '@/formats/faults/fault.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Candidate } from '@/routing/order.ts'
import { judge, retryAfterMs } from '@/upstream/outcome.ts'
import type { UpstreamRequest } from '@/upstream/request.ts'
import { type AnswerListener, readAnswer, readFault } from './answer-body.ts'

/** What is sent to an upstream. */
export type Sendable = Pick<UpstreamRequest, 'call' | 'body' | 'headers' | 'followsRedirects'>

/** Who makes an attempt. */
interface Sender {
  gateway: Pick<Gateway, 'client' | 'clock' | 'deadlines'>
  pass: Pass
}

/** What is sent where. */
interface Sending {
  preparation: Sendable
  candidate: Pick<Candidate, 'route' | 'key'>
  /** Which pool of connections it goes over; undefined: the first. */
  pool?: number
}

/**
 * Sends one prepared request to its candidate and returns the answer once its head says that it succeeded.
 * @param attempt ends the attempt, as does whoever has a reason to
 * @throws GatewayError that says whether another channel could do better
 */
export async function send(
  { gateway, pass }: Sender,
  { preparation, candidate, pool }: Sending,
  attempt: AbortController,
): Promise<Response> {
  const { call, body, headers, followsRedirects } = preparation
  const { channel } = candidate.route
  const { key } = candidate
  const response = await gateway.client(pass, {
    channel,
    key,
    call,
    body,
    headers,
    followsRedirects,
    attempt,
    pool,
  })
  if (response.ok) return response
  const text = await readFault(response, gateway.deadlines)
  // Who gave the attempt up meanwhile has said why.
  attempt.signal.throwIfAborted()
  const fault = CODECS[channel.format].decodeFault(response.status, text)
  throw judge({
    ...fault,
    retryAfterMs: retryAfterMs(response.headers, gateway.clock.now()) ?? fault.retryAfterMs,
  })
}

/**
 * One attempt at an answer in one piece: sent, read to its end within the channel's times, and taken in by `read`. Bytes
 * are read natively in one go and never go through a JavaScript stream.
 * @throws GatewayError that says whether another route could do better, and whatever else `read` does
 */
export async function fetchWhole<Answer>(
  sender: Sender & { interruption: Interruption },
  sending: Sending,
  read: (bytes: Uint8Array, headers: Headers) => Answer,
  listener?: AnswerListener,
): Promise<Answer> {
  const { gateway, interruption } = sender
  const attempt = new AbortController()
  const giveUp = (reason: GatewayError) => attempt.abort(reason)
  interruption.listen(giveUp)
  const { deadlines } = gateway
  const { idleMs } = sending.candidate.route.channel.timeouts
  try {
    const response = await send(sender, sending, attempt)
    const bytes = await readAnswer(response, { deadlines, idleMs, attempt, listener })
    return read(bytes, response.headers)
  } catch (error) {
    throw attempt.signal.aborted ? attempt.signal.reason : error
  } finally {
    interruption.unlisten(giveUp)
  }
}

/**
 * An error that came inside a 200 before any output is judged like one that came as a status, so that it can move to
 * another channel.
 */
export function judgeEarly(error: GatewayError): GatewayError {
  const fault = faultOf(error)
  return fault === undefined ? error : judge(fault)
}

/**
 * The fault that a 200's JSON body is, if it is one: some vendors answer errors so.
 * A Responses object has an `error` key of its own, which is null or part of the answer.
 */
export function faultInBody(
  json: Readonly<Record<string, unknown>>,
  text: () => string,
): GatewayError | undefined {
  const { error } = json
  const isFault =
    json['object'] !== 'response' &&
    (typeof error === 'string' || (typeof error === 'object' && error !== null))
  return isFault ? judge(decodeFault(200, text())) : undefined
}
