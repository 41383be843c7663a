import type { AnswerListener } from '@/exchange/attempt/answer-body.ts'
import { fetchWhole } from '@/exchange/attempt/attempt.ts'
import {
  type Admitted,
  overCandidates,
  type Prepared,
  type Servable,
  type Try,
} from '@/exchange/attempt/failover.ts'
import { charge } from '@/exchange/billing/charge.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import { withAnswerLosses } from '@/formats/lowering/caller-words.ts'
import { wholeHeaders } from './reply.ts'

/** An answer in one piece for the caller, and what it used. */
export interface CallerAnswer {
  body: Uint8Array | string
  contentType: string
  /** Undefined: nothing is charged. */
  used: UsedUp | undefined
  /** What of the answer the caller's format has no word for; undefined: it says all of it. */
  losses?: ReadonlySet<string> | undefined
  /** Hands the hold, of so much, to a job, which is charged when it ends; the caller is answered when that is durable. */
  entrust?: (heldNano: bigint) => Promise<void>
}

/** How one kind of answer in one piece differs from another: conversations, operations. */
export interface AnswerReader<P extends Prepared, Answer> {
  /** Takes in what an upstream answered, and throws what is wrong with it. */
  read(bytes: Uint8Array, headers: Headers, one: Try<P>): Answer
  /** For answers that may say themselves where they end. */
  listen?(one: Try<P>): AnswerListener
}

/**
 * Asks a candidate for an answer in one piece.
 * @throws GatewayError that says whether another route could do better
 */
export function askWhole<P extends Prepared, Answer>(
  admitted: Admitted,
  reader: AnswerReader<P, Answer>,
  one: Try<P>,
): Promise<Answer> {
  const { gateway, record } = admitted
  return fetchWhole(
    admitted,
    one,
    (bytes, headers) => {
      record.firstByteMs = gateway.clock.elapsed() - record.begunAt
      return reader.read(bytes, headers, one)
    },
    reader.listen?.(one),
  )
}

/**
 * Relays an answer in one piece: that of the first route that gives one. Calls `onEnd` once when there is an answer.
 * @throws GatewayError when every route failed, or the caller left
 */
export async function relayWhole<P extends Prepared>(
  admitted: Servable<P>,
  attempt: (one: Try<P>) => Promise<CallerAnswer>,
  onEnd: () => void,
): Promise<Response> {
  const { gateway, record, interruption, reservation } = admitted
  const { clock, open } = gateway
  const place = open.whole.add({ id: record.id, interruption })
  let answer: CallerAnswer
  try {
    answer = await overCandidates(admitted, attempt)
  } finally {
    open.whole.remove(place)
  }
  record.losses = withAnswerLosses(record.losses, answer.losses)
  charge(record, answer.used, reservation.bill)
  await reservation.granted
  if (answer.entrust !== undefined) await reservation.bill.entrust(answer.entrust)
  onEnd()
  return new Response(answer.body, { headers: wholeHeaders(record, clock.now(), answer.contentType) })
}
