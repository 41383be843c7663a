import { GatewayError } from '@/errors/gateway-error.ts'
import { freeBytes } from '@/exchange/admission/body.ts'
import { readAnswer } from '@/exchange/attempt/answer-body.ts'
import { send } from '@/exchange/attempt/attempt.ts'
import { freeSent } from '@/exchange/attempt/preparation.ts'
import { type Admitted, overCandidates, type Prepared, type Try } from '@/exchange/attempt/routes.ts'
import { charge } from '@/exchange/billing/charge.ts'
import type { Conversation } from '@/exchange/conversation.ts'
import { withUntold } from '@/formats/lowering/caller-words.ts'
import { wholeHeaders } from './reply.ts'
import { readWhole } from './whole-answer.ts'

/**
 * A caller who wants the answer in one piece: that of the first route that gives one. Bytes that are passed on are
 * read natively in one go and never go through a JavaScript stream. Calls `onEnd` once when there is an answer.
 * @throws GatewayError when every route failed, or the caller left
 */
export async function relayWhole(conversation: Conversation, onEnd: () => void): Promise<Response> {
  const { gateway, record, prompt, reservation } = conversation
  const answer = await overCandidates(conversation, one =>
    fetchWhole(conversation, one, bytes => {
      freeSent(one.preparation, prompt)
      return readWhole(bytes, one.preparation, told => reservation.bill.usedUpWhole(told).usage)
    }),
  )
  freeBytes(prompt.body.bytes)
  record.losses = withUntold(record.losses, answer.untold)
  charge(record, reservation.bill.usedUpWhole(answer.told, answer.servedTier), reservation.bill)
  await reservation.granted
  onEnd()
  return new Response(answer.body, {
    headers: wholeHeaders(record, gateway.clock.now(), 'application/json'),
  })
}

/**
 * One attempt at an answer in one piece: sent, read to its end within the channel's times, and taken in by `read`.
 * @throws GatewayError that says whether another route could do better
 */
export async function fetchWhole<P extends Prepared, Answer>(
  { gateway, record, pass, interruption }: Admitted<P>,
  { preparation, candidate, pool }: Try<P>,
  read: (bytes: Uint8Array, headers: Headers) => Answer,
): Promise<Answer> {
  const attempt = new AbortController()
  const giveUp = (reason: GatewayError) => attempt.abort(reason)
  interruption.listen(giveUp)
  const { client, clock, deadlines } = gateway
  const { idleMs } = candidate.route.channel.timeouts
  try {
    const options = { client, pass, now: clock.now, deadlines, attempt, pool }
    const response = await send(preparation, candidate, options)
    const bytes = await readAnswer(response, { deadlines, idleMs, attempt })
    record.firstByteMs = clock.elapsed() - record.begunAt
    return read(bytes, response.headers)
  } catch (error) {
    throw attempt.signal.aborted ? attempt.signal.reason : brokenOff(error)
  } finally {
    interruption.unlisten(giveUp)
  }
}

function brokenOff(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  return new GatewayError(
    'upstream_error',
    'The upstream closed the connection before its answer was complete',
    {
      retry: 'next-channel',
      cause: error,
    },
  )
}
