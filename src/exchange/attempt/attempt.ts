import type { Deadlines } from '@/clock/deadlines.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { GuardedClient, Pass } from '@/exchange/pass.ts'
import { decodeFault, faultOf } from '@/formats/faults/fault.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Candidate } from '@/routing/order.ts'
import { judge, retryAfterMs } from '@/upstream/outcome.ts'
import type { UpstreamRequest } from '@/upstream/request.ts'
import { readFault } from './answer-body.ts'

/** What is sent to an upstream. */
export type Sendable = Pick<UpstreamRequest, 'call' | 'body' | 'headers' | 'followsRedirects'>

/** What an attempt is sent with. */
export interface SendOptions {
  client: GuardedClient
  pass: Pass
  now: () => number
  deadlines: Deadlines
  /** Ends the attempt, as does whoever has a reason to. */
  attempt: AbortController
  /** Which pool of connections it goes over; undefined: the first. */
  pool?: number
}

/**
 * Sends one prepared request to its candidate and returns the answer once its head says that it succeeded.
 * @throws GatewayError that says whether another channel could do better
 */
export async function send(
  { call, body, headers, followsRedirects }: Sendable,
  { route: { channel }, key }: Pick<Candidate, 'route' | 'key'>,
  options: SendOptions,
): Promise<Response> {
  const response = await options.client(options.pass, {
    channel,
    key,
    call,
    body,
    headers,
    followsRedirects: followsRedirects ?? false,
    attempt: options.attempt,
    pool: options.pool ?? 0,
  })
  if (response.ok) return response
  const text = await readFault(response, options.deadlines)
  // Who gave the attempt up meanwhile has said why.
  options.attempt.signal.throwIfAborted()
  const fault = CODECS[channel.format].decodeFault(response.status, text)
  throw judge({
    ...fault,
    retryAfterMs: retryAfterMs(response.headers, options.now()) ?? fault.retryAfterMs,
  })
}

/**
 * An error that came inside a 200 before any output is judged like one that came as a status, so that it can move to
 * another channel; so is an answer that broke off before it began.
 */
export function judgeEarly(error: GatewayError, cut: boolean): GatewayError {
  const fault = faultOf(error)
  if (fault !== undefined) return judge(fault)
  if (!cut || error.retry !== 'never') return error
  return new GatewayError(error.kind, error.message, {
    code: error.code,
    retry: 'next-channel',
    cause: error,
  })
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
