import { GatewayError } from '@/errors/gateway-error.ts'
import { send } from './attempt.ts'
import { charge } from './charge.ts'
import { answerHeaders, costHeader } from './reply.ts'
import { type Admitted, overCandidates, type Try } from './routes.ts'
import { readWhole, type WholeAnswer } from './whole.ts'

/**
 * A caller who wants the answer in one piece: that of the first route that gives one. Bytes that are passed on are
 * read natively in one go and never go through a JavaScript stream.
 * @throws GatewayError when every route failed, or the caller left
 */
export async function relayWhole(admitted: Admitted): Promise<Response> {
  const { gateway, record, prompt, reservation } = admitted
  const answer = await overCandidates(admitted, one => fetchWhole(admitted, one))
  charge(record, reservation.bill.usedUpWhole(answer.response), reservation.bill)
  await reservation.granted
  return new Response(answer.body, {
    headers: {
      'content-type': 'application/json',
      ...answerHeaders(record, prompt, gateway.clock.now()),
      ...costHeader(record),
    },
  })
}

async function fetchWhole(
  { gateway, record, signal }: Admitted,
  { preparation, candidate }: Try,
): Promise<WholeAnswer> {
  const attempt = new AbortController()
  const leave = () => attempt.abort(leaveReason(signal))
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave)
  const { client, clock } = gateway
  const stopTimers: (() => void)[] = []
  try {
    const response = await send(preparation, candidate, { client, now: clock.now, signal: attempt.signal })
    stopTimers.push(clock.after(candidate.route.channel.timeouts.idleMs, () => attempt.abort(stalled())))
    const bytes = new Uint8Array(await response.arrayBuffer())
    record.firstByteMs = clock.now() - record.startedAt
    return readWhole(bytes, preparation)
  } catch (error) {
    throw attempt.signal.aborted ? attempt.signal.reason : brokenOff(error)
  } finally {
    for (const stop of stopTimers) stop()
    signal.removeEventListener('abort', leave)
  }
}

/** Why an exchange is given up: an error of ours, or the caller's leaving. */
function leaveReason(signal: AbortSignal): GatewayError {
  if (signal.reason instanceof GatewayError) return signal.reason
  return new GatewayError('client_closed', 'The caller left before the answer')
}

function stalled(): GatewayError {
  return new GatewayError('upstream_timeout', 'The upstream stopped sending', {
    code: 'upstream_stalled',
    retry: 'next-channel',
  })
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
