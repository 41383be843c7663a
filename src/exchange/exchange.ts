import type { Caller } from '@/accounts/account.ts'
import { asGatewayError, type GatewayError } from '@/errors/gateway-error.ts'
import { admitCaller, admitModel, admitWork } from '@/exchange/admission/admission.ts'
import { authenticateCaller } from '@/exchange/admission/authentication.ts'
import { type RequestBody, readBody } from '@/exchange/admission/body.ts'
import type { BodyTerms } from '@/exchange/admission/body-arrival.ts'
import { endLimits } from '@/exchange/admission/limiting.ts'
import { admitOtherModels, otherModelsOf } from '@/exchange/admission/other-models.ts'
import { Prompt } from '@/exchange/admission/prompt.ts'
import { wantsStrict } from '@/exchange/admission/strict.ts'
import { closeBill, type Reservation } from '@/exchange/billing/charge.ts'
import { quote, quoteOperation } from '@/exchange/billing/quote.ts'
import { settle } from '@/exchange/billing/settlement.ts'
import { type Operation, undertake } from '@/exchange/operations/operation.ts'
import { relayOperation } from '@/exchange/operations/relay-operation.ts'
import { relayConversation } from '@/exchange/relay/relay-conversation.ts'
import { errorResponse, limitsOf } from '@/exchange/relay/reply.ts'
import type { ConversationSurface, Surface } from '@/generation/surface.ts'
import type { ResponseChain } from '@/routing/affinity.ts'
import type { Model } from '@/routing/model.ts'
import { converse } from './conversation.ts'
import type { Gateway } from './gateway.ts'
import { callerLeft, type Interruption, interruptionBy } from './interruption.ts'
import { admitPaid } from './pass.ts'
import { callerOf, type ExchangeRecord, endStateOf, openRecord } from './record.ts'

/** A call as a surface received it. */
export interface Call {
  request: Request
  /** Where it came in. */
  listener: Listener
  surface: Surface
}

/** A call that converses. */
export interface ConversationCall extends Call {
  surface: ConversationSurface
  /**
   * Reads what the gateway needs to know of the body, or of the path where the surface's format says it there.
   * @throws GatewayError `invalid_request`
   */
  readCall: (body: RequestBody) => CallFacts
  /** What is kept here between requests, where the surface has such; undefined: nothing. */
  state?: CallState | undefined
}

/** The steps of an exchange that have to do with what is kept between requests. */
export interface CallState {
  /**
   * The body to continue with, in which each reference is replaced by what it refers to.
   * @throws GatewayError for a reference to nothing, and for what may not be kept
   */
  resolve(body: RequestBody, record: ExchangeRecord): RequestBody | Promise<RequestBody>
  /** Aborts when the exchange is to end; takes the place of the request's own signal where nobody waits for the answer. */
  readonly signal?: AbortSignal | undefined
  /** Where the exchange stands in a chain of responses, once the body was resolved. */
  readonly chain?: ResponseChain | undefined
  /** Called once the money is set aside, before any upstream is called. */
  admitted?(record: ExchangeRecord, reservation: Reservation): Promise<void>
}

/** A call of an operation. */
export interface OperationCall extends Call {
  /**
   * Reads the body on these terms, and says what is to be done for this caller.
   * @throws GatewayError for what cannot be read or breaks the format's rules
   */
  read: (request: Request, terms: BodyTerms, caller: Caller) => Promise<Operation>
}

/** What of a call decides the way it goes. */
export interface CallFacts {
  /** As the caller named it. */
  model: string
  stream: boolean
  framing: 'sse' | 'json-array'
  /** An answer, unless said. */
  purpose?: Prompt['purpose']
}

/** What only the socket knows of a request. */
export interface Listener {
  /** The address that a request came from; undefined if its socket is closed. */
  addressOf(request: Request): string | undefined
}

/** One request and its reply, from the socket to the stored result. */
export function runExchange(gateway: Gateway, call: ConversationCall): Promise<Response> {
  return conduct(gateway, call, async ({ record }) => {
    const received = await receive(gateway, record, call, () => readPrompt(gateway, record, call))
    const { asked: prompt, model, strict } = received
    admitOtherModels(gateway.catalog, callerOf(record), {
      model: prompt.model,
      otherModels: otherModelsOf(prompt),
    })
    const interruption = interruptionOf(call)
    const quoted = quote(prompt, model, callerOf(record))
    const admitting = admitPaid(gateway, record, quoted, interruption)
    const { pass, reservation } = admitting instanceof Promise ? await admitting : admitting
    prompt.outputLimit = reservation.outputLimit
    const conversation = converse(
      { gateway, record, prompt, model, strict, pass, reservation, interruption },
      call.state?.chain,
    )
    const { state } = call
    if (state === undefined) {
      return await billed(gateway, record, reservation, onEnd => relayConversation(conversation, onEnd))
    }
    return await billed(gateway, record, reservation, async onEnd => {
      await state.admitted?.(record, reservation)
      return relayConversation(conversation, onEnd)
    })
  })
}

/** The same for an exchange that is no conversation. */
export function runOperation(gateway: Gateway, call: OperationCall): Promise<Response> {
  return conduct(gateway, call, async ({ record, atEnd }) => {
    const received = await receive(gateway, record, call, async () => {
      const read = await call.read(call.request, gateway, callerOf(record))
      atEnd(() => read.dispose?.())
      return read
    })
    const { asked: operation, model, strict } = received
    admitOtherModels(gateway.catalog, callerOf(record), operation)
    const work = undertake({ gateway, record, model, operation }, strict)
    const interruption = interruptionOf(call)
    const quoted = quoteOperation(operation.price, model)
    const { pass, reservation } = await admitPaid(gateway, record, quoted, interruption)
    return await billed(gateway, record, reservation, onEnd =>
      relayOperation({ ...work, pass, interruption, reservation }, onEnd),
    )
  })
}

/** An exchange on its way. */
interface Way {
  record: ExchangeRecord
  /** Has something done when all is over, whichever way it ends. */
  atEnd(release: () => void): void
}

/**
 * The frame of every exchange: its record, its end, and an error in the caller's shape if nothing comes of it.
 *
 * On this way nothing is awaited that is there already (hence `instanceof Promise`), and a promise is returned by
 * `return await`: without the await it costs three turns of the microtask queue in place of one. Exchanges that waited for
 * the same batch of the ledger go on together, turn by turn, and with each turn more of their data has left the CPU's
 * caches.
 */
async function conduct(
  gateway: Gateway,
  call: Call,
  serve: (way: Way) => Promise<Response>,
): Promise<Response> {
  const record = openRecord(gateway.newRequestId(), call.surface, gateway.clock)
  gateway.idempotency.observe(call.request, record)
  gateway.open.begin()
  try {
    return await serve({ record, atEnd: release => record.releases.push(release) })
  } catch (error) {
    return refuse(gateway, record, callerLeft(signalOf(call)) ?? asGatewayError(error))
  }
}

/** Aborts when the caller left, or whoever decides in their place. */
function signalOf(call: Call & Pick<ConversationCall, 'state'>): AbortSignal {
  return call.state?.signal ?? call.request.signal
}

/**
 * The first part of the way, up to where a call may be served: who calls, what for, and whether they may. Fills in the
 * record.
 * @throws GatewayError of admission, and for what cannot be read
 */
export async function receive<Asked extends { model: string; stream: boolean }>(
  gateway: Gateway,
  record: ExchangeRecord,
  call: Call,
  read: () => Promise<Asked>,
): Promise<Received<Asked>> {
  record.traceparent = call.request.headers.get('traceparent') ?? undefined
  admitWork(gateway)
  record.tellsOperators = gateway.tellsOperators()
  const caller = authenticateCaller(gateway.authenticate, call.request)
  record.caller = caller instanceof Promise ? await caller : caller
  admitCaller(record.caller, () => call.listener.addressOf(call.request))
  const strict = wantsStrict(call.request.headers)
  const asked = await read()
  record.streamed = asked.stream
  const model = admitModel(gateway.catalog, record.caller, asked.model, call.surface)
  record.model = model.id
  // Under load some callers have left by now: what is for nobody takes no place and no money.
  const left = callerLeft(call.request.signal)
  if (left !== undefined) throw left
  return { asked, model, strict }
}

/** What was asked, of which model, and whether losses are errors. */
interface Received<Asked> {
  asked: Asked
  model: Model
  strict: boolean
}

/**
 * The prompt of a call that converses.
 * @throws GatewayError for what cannot be read
 */
export async function readPrompt(
  gateway: Gateway,
  record: ExchangeRecord,
  call: ConversationCall,
): Promise<Prompt> {
  const read = await readBody(call.request, gateway)
  const body = call.state === undefined ? read : await call.state.resolve(read, record)
  return new Prompt({
    surface: call.surface,
    body,
    headers: call.request.headers,
    ...call.readCall(body),
  })
}

/** What ends the exchange early: the caller leaves or, as admission may hear later, there is no money. */
function interruptionOf(call: Call): Interruption {
  return interruptionBy(signalOf(call))
}

/** Relays and settles: a streamed exchange ends when its stream does, long after this returned. */
async function billed(
  gateway: Gateway,
  record: ExchangeRecord,
  reservation: Reservation,
  relay: (onEnd: () => void) => Promise<Response>,
): Promise<Response> {
  try {
    return await relay(endOf(gateway, record, reservation))
  } catch (error) {
    record.charge = undefined
    closeBill(gateway, record, reservation)
    throw error
  }
}

/** A function of its own: a closure within `billed` would keep the caller's whole request to the end of a stream. */
function endOf(gateway: Gateway, record: ExchangeRecord, reservation: Reservation): () => void {
  return () => close(gateway, record, closeBill(gateway, record, reservation))
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
  for (const release of record.releases) release()
  endLimits(gateway, record)
  settle(record, gateway, charged)
  gateway.open.end()
}
