import type { Admitted, Prepared, Servable, Try } from '@/exchange/attempt/failover.ts'
import { relayFlow } from '@/exchange/relay/flow.ts'
import { isEventStream, streamHeaders } from '@/exchange/relay/reply.ts'
import { type AnswerReader, askWhole, type CallerAnswer, relayWhole } from '@/exchange/relay/whole.ts'
import { bounded, refuseLosses } from '@/formats/lowering/caller-words.ts'
import { CODECS } from '@/formats/registry.ts'
import { SURFACE_FORMAT } from '@/generation/surface.ts'
import type {
  OperationOf,
  OperationPipeline,
  PreparedStream,
  PreparedWhole,
  StreamedOperation,
  Undertaking,
} from './operation.ts'

/** An operation that was admitted. */
interface AdmittedOperation extends Admitted, Undertaking {
  /** What the upstream's format cannot say is an error, and not a loss. */
  strict: boolean
}

/**
 * Relays an operation's answer. Returns when its head can be sent, and calls `onEnd` once when all is over.
 * @throws GatewayError when there will be no answer; `onEnd` is not called then
 */
export function relayOperation(admitted: AdmittedOperation, onEnd: () => void): Promise<Response> {
  const { operation } = admitted
  if (operation.delivery !== 'whole') return relayStreamed(admitted, operation, onEnd)
  return relayWhole(
    { ...admitted, prepare: preparer(operation, admitted) },
    one => askToTheEnd(admitted, one),
    onEnd,
  )
}

/** One attempt, in as many calls as it takes, one after another: an exchange has one place at its channel. */
async function askToTheEnd(admitted: Admitted, one: Try<PreparedWhole>): Promise<CallerAnswer> {
  const { record } = admitted
  let answer = await askWhole(admitted, WHOLE, one)
  const { firstByteMs } = record
  while ('call' in answer) answer = await askWhole(admitted, WHOLE, { ...one, preparation: answer })
  record.firstByteMs = firstByteMs
  return answer
}

const WHOLE: AnswerReader<PreparedWhole, CallerAnswer | PreparedWhole> = {
  read: (bytes, headers, { preparation, candidate }) => preparation.read(bytes, headers, candidate),
}

function relayStreamed(
  admitted: AdmittedOperation,
  operation: StreamedOperation,
  onEnd: () => void,
): Promise<Response> {
  const { gateway, record, reservation, context } = admitted
  const codec = CODECS[SURFACE_FORMAT[record.surface]]
  const isEvents = operation.delivery === 'events'
  return relayFlow<PreparedStream, OperationPipeline>(
    { ...admitted, prepare: preparer(operation, admitted) },
    {
      outlet: {
        clock: gateway.clock,
        keepalive: isEvents ? Buffer.from(codec.keepalive) : undefined,
        // Bytes have no place for an error: a broken connection is all that tells of it.
        breakAfterError: !isEvents,
        tellsAtEnd: false,
        encodeError: error => (isEvents ? Buffer.from(context.encodeError(error)) : undefined),
      },
      open: (preparation, headers) => preparation.open(headers),
      used: pipeline => pipeline.used(),
      look: pipeline => {
        const used = pipeline.used()
        if (used !== undefined) reservation.bill.progress(used)
        return undefined
      },
      headers: pipeline =>
        // An upstream may answer with something else than the events that it was asked for.
        isEvents && (pipeline === undefined || isEventStream(pipeline.contentType))
          ? streamHeaders('sse')
          : { 'content-type': pipeline?.contentType ?? 'application/octet-stream' },
    },
    onEnd,
  )
}

/** Writes requests with as many losses as can be told; in strict mode one is a 400 instead. */
function preparer<P extends Prepared>(
  operation: OperationOf<P>,
  { context, strict }: AdmittedOperation,
): Servable<P>['prepare'] {
  return async route => {
    const prepared = await operation.prepare(route, context)
    const losses = bounded(prepared.losses)
    if (strict) refuseLosses(losses)
    return { ...prepared, losses }
  }
}
