import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import type { ConversationSurface } from '@/generation/surface.ts'
import type { Model } from '@/routing/model.ts'
import { admitCaller, admitModel } from './admission.ts'
import { authenticateCaller } from './authentication.ts'
import { type RequestBody, readBody } from './body.ts'
import { closeBill, type Reservation, reserve } from './charge.ts'
import type { Gateway } from './gateway.ts'
import { endLimits, takeLimits } from './limiting.ts'
import { Prompt } from './prompt.ts'
import { quote } from './quote.ts'
import { callerOf, type ExchangeRecord, endStateOf, openRecord } from './record.ts'
import { relayStream } from './relay-stream.ts'
import { relayWhole } from './relay-whole.ts'
import { errorResponse, limitsOf } from './reply.ts'
import type { Admitted } from './routes.ts'
import { settle } from './settlement.ts'

/** A call as a surface received it. */
export interface IncomingCall {
  request: Request
  /** Where it came in. */
  listener: Listener
  surface: ConversationSurface
  /**
   * Reads what the gateway needs to know of the body, or of the path where the surface's format says it there.
   * @throws GatewayError `invalid_request`
   */
  readCall: (body: RequestBody) => CallFacts
}

/** What of a call decides the way it goes. */
export interface CallFacts {
  /** As the caller named it. */
  model: string
  stream: boolean
  framing: 'sse' | 'json-array'
}

/** What only the socket knows of a request. */
export interface Listener {
  /** The address that a request came from; undefined if its socket is closed. */
  addressOf(request: Request): string | undefined
}

/** One request and its reply, from the socket to the stored result. */
export async function runExchange(gateway: Gateway, call: IncomingCall): Promise<Response> {
  const record = openRecord(gateway.newRequestId(), call.surface, gateway.clock.now())
  gateway.metrics.openExchanges.inc()
  try {
    const { prompt, model } = await receive(gateway, record, call)
    const quoted = quote(prompt, model, callerOf(record))
    await takeLimits(gateway, record, quoted.inputTokens + quoted.allowance)
    const reservation = await reserve(gateway, record, prompt, quoted)
    return await relay({ gateway, record, prompt, model, reservation, signal: endOf(call, reservation) })
  } catch (error) {
    return refuse(gateway, record, callerLeft(call.request.signal) ?? asGatewayError(error))
  }
}

/**
 * The way of a call up to where it may be served: who calls, what for, and whether they may. Fills in the record.
 * @throws GatewayError of admission, and for what cannot be read
 */
export async function receive(
  gateway: Gateway,
  record: ExchangeRecord,
  call: IncomingCall,
): Promise<{ prompt: Prompt; model: Model }> {
  if (gateway.draining) throw new GatewayError('shutting_down', 'This gateway is shutting down')
  record.caller = await authenticateCaller(gateway.authenticate, call.request)
  admitCaller(record.caller, () => call.listener.addressOf(call.request))
  const prompt = await readPrompt(gateway, call)
  record.streamed = prompt.stream
  const model = admitModel(gateway.catalog, record.caller, prompt.model, call.surface)
  record.model = model.id
  return { prompt, model }
}

async function readPrompt(gateway: Gateway, call: IncomingCall): Promise<Prompt> {
  const body = await readBody(call.request, gateway.maxBodyBytes)
  return new Prompt({
    surface: call.surface,
    body,
    headers: call.request.headers,
    ...call.readCall(body),
  })
}

/** Aborts when nothing is to come of the exchange: the caller left, or there is no money. */
function endOf(call: IncomingCall, { refused }: Reservation): AbortSignal {
  return AbortSignal.any([call.request.signal, refused])
}

/** Relays and settles: a streamed exchange ends when its stream does, long after this returned. */
async function relay(admitted: Admitted): Promise<Response> {
  const { gateway, record, reservation } = admitted
  const finish = () => {
    close(gateway, record, closeBill(gateway, record, reservation))
  }
  try {
    if (admitted.prompt.stream) return await relayStream(admitted, finish)
    const response = await relayWhole(admitted)
    finish()
    return response
  } catch (error) {
    record.charge = undefined
    closeBill(gateway, record, reservation)
    throw error
  }
}

/** Ends an exchange of which nothing was sent yet, in an error of the caller's shape. */
function refuse(gateway: Gateway, record: ExchangeRecord, error: GatewayError): Response {
  record.error = error
  record.status = error.status
  record.endState = endStateOf(error, record.endState === 'upstream_cut')
  close(gateway, record)
  return errorResponse(error, record.id, record.surface, limitsOf(record, gateway.clock.now()))
}

function close(gateway: Gateway, record: ExchangeRecord, charged?: Promise<void>): void {
  gateway.metrics.openExchanges.dec()
  endLimits(gateway, record)
  settle(record, gateway, charged)
}

/** The error that an exchange ends in when its caller is gone, whatever else went wrong by then. */
export function callerLeft(signal: AbortSignal): GatewayError | undefined {
  return signal.aborted ? new GatewayError('client_closed', 'The caller left before the answer') : undefined
}
