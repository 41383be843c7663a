import { overCandidates, type Prepared } from '@/exchange/attempt/routes.ts'
import { charge, type Reservation } from '@/exchange/billing/charge.ts'
import type { Interruption } from '@/exchange/interruption.ts'
import type { Pass } from '@/exchange/pass.ts'
import { relayFlow } from '@/exchange/relay/flow.ts'
import { streamHeaders, wholeHeaders } from '@/exchange/relay/reply.ts'
import { fetchWhole } from '@/exchange/relay/whole.ts'
import { bounded, refuseLosses } from '@/formats/lowering/caller-words.ts'
import { CODECS } from '@/formats/registry.ts'
import { SURFACE_FORMAT } from '@/generation/surface.ts'
import type { Route } from '@/routing/model.ts'
import type {
  Operation,
  OperationPipeline,
  StreamedOperation,
  Undertaking,
  WholeOperation,
} from './operation.ts'

/** An operation that was admitted. */
interface AdmittedOperation<O extends Operation> extends Undertaking<O> {
  pass: Pass
  reservation: Reservation
  interruption: Interruption
}

/**
 * Relays an operation's answer. Returns when its head can be sent, and calls `onEnd` once when all is over.
 * @throws GatewayError when there will be no answer; `onEnd` is not called then
 */
export function relayOperation(admitted: AdmittedOperation<Operation>, onEnd: () => void): Promise<Response> {
  const { operation } = admitted
  return operation.delivery === 'whole'
    ? relayWholeOperation({ ...admitted, operation }, onEnd)
    : relayStreamedOperation({ ...admitted, operation }, onEnd)
}

async function relayWholeOperation(
  admitted: AdmittedOperation<WholeOperation>,
  onEnd: () => void,
): Promise<Response> {
  const { gateway, record, operation, context, reservation } = admitted
  const prepared = {
    ...admitted,
    prepare: async (route: Route) => checked(await operation.prepare(route, context), admitted),
  }
  const answer = await overCandidates(prepared, one =>
    fetchWhole(prepared, one, (bytes, headers) => one.preparation.read(bytes, headers, one.candidate)),
  )
  charge(record, answer.used, reservation.bill)
  await reservation.granted
  if (answer.entrust !== undefined) {
    await answer.entrust(record)
    reservation.bill.entrusted()
  }
  onEnd()
  return new Response(answer.body, {
    headers: wholeHeaders(record, gateway.clock.now(), answer.contentType),
  })
}

function relayStreamedOperation(
  admitted: AdmittedOperation<StreamedOperation>,
  onEnd: () => void,
): Promise<Response> {
  const { gateway, record, operation, context, reservation } = admitted
  const codec = CODECS[SURFACE_FORMAT[record.surface]]
  const isEvents = operation.delivery === 'events'
  return relayFlow(
    {
      ...admitted,
      prepare: async (route: Route) => checked(await operation.prepare(route, context), admitted),
    },
    {
      outlet: {
        clock: gateway.clock,
        keepalive: isEvents ? Buffer.from(codec.keepalive) : undefined,
        // Bytes have no place for an error: a broken connection is all that tells of it.
        breakAfterError: !isEvents,
        tellsAtEnd: false,
        encodeError: error =>
          isEvents ? Buffer.from(codec.encodeErrorEvent(error, record.id, undefined)) : undefined,
      },
      open: (preparation, headers) => preparation.open(headers),
      used: pipeline => pipeline.used(),
      look: pipeline => {
        const used = pipeline.used()
        if (used !== undefined) reservation.bill.note(used)
        return undefined
      },
      headers: pipeline =>
        isEvents && (pipeline === undefined || isEventStream(pipeline))
          ? streamHeaders('sse')
          : { 'content-type': pipeline?.contentType ?? 'application/octet-stream' },
    },
    onEnd,
  )
}

/** An upstream may answer with something else than the events that it was asked for. */
function isEventStream({ contentType }: OperationPipeline): boolean {
  return contentType.startsWith('text/event-stream')
}

/** The prepared request with as many losses as can be told; in strict mode one is a 400 instead. */
function checked<P extends Prepared>(prepared: P, { strict }: Undertaking<Operation>): P {
  const losses = bounded(prepared.losses)
  if (strict) refuseLosses(losses)
  return { ...prepared, losses }
}
