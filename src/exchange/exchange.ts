import type { GatewayError } from '@/errors/gateway-error.ts'
import { admitCaller, admitModel, admitWork } from '@/exchange/admission/admission.ts'
import { authenticateCaller } from '@/exchange/admission/authentication.ts'
import { readBody, readGoogleBody } from '@/exchange/admission/body.ts'
import { termsOf } from '@/exchange/admission/body-arrival.ts'
import { endLimits } from '@/exchange/admission/limiting.ts'
import { admitOtherModels, otherModelsOf } from '@/exchange/admission/other-models.ts'
import { Prompt } from '@/exchange/admission/prompt.ts'
import { wantsStrict } from '@/exchange/admission/strict.ts'
import { charge, closeBill, type Reservation } from '@/exchange/billing/charge.ts'
import { quote, quoteOperation } from '@/exchange/billing/quote.ts'
import { settle } from '@/exchange/billing/settlement.ts'
import { undertake } from '@/exchange/operations/operation.ts'
import { relayOperation } from '@/exchange/operations/relay-operation.ts'
import { errorResponse, limitHeadersOf } from '@/exchange/relay/reply.ts'
import { relayStream } from '@/exchange/relay/stream.ts'
import { askWhole, relayWhole } from '@/exchange/relay/whole.ts'
import { answerReader } from '@/exchange/relay/whole-answer.ts'
import type { Model } from '@/routing/model.ts'
import type { Call, ConversationCall, OperationCall } from './call.ts'
import { type Conversation, converse } from './conversation.ts'
import { failureOf } from './failure.ts'
import type { Gateway } from './gateway.ts'
import { callerLeft, interruptionBy } from './interruption.ts'
import { admitPaid } from './pass.ts'
import { callerOf, type ExchangeRecord, endStateOf, openRecord } from './record.ts'

/** One conversational request and its reply, from the socket to the stored result. */
export function runExchange(gateway: Gateway, call: ConversationCall): Promise<Response> {
  return withRecord(gateway, call, async record => {
    const received = await receive(gateway, record, call, () => readPrompt(gateway, record, call))
    const { asked: prompt, model, strict } = received
    admitOtherModels(gateway.catalog, callerOf(record), {
      model: prompt.model,
      otherModels: otherModelsOf(prompt),
    })
    const interruption = interruptionBy(signalOf(call))
    const quoted = quote(prompt, model, callerOf(record))
    const admitting = admitPaid(gateway, record, quoted, interruption)
    const { pass, reservation } = admitting instanceof Promise ? await admitting : admitting
    prompt.outputLimit = reservation.outputLimit
    const { state } = call
    const conversation = converse(
      { gateway, record, prompt, model, strict, pass, reservation, interruption },
      state?.chain,
    )
    return await billed(gateway, record, reservation, onEnd => {
      const stored = state?.admitted?.(record, reservation)
      return stored === undefined ? relay(conversation, onEnd) : relayAfter(stored, conversation, onEnd)
    })
  })
}

/**
 * Returns when the head of the answer can be sent, and calls `onEnd` once when all is over.
 * @throws GatewayError when there will be no answer; `onEnd` is not called then
 */
function relay(conversation: Conversation, onEnd: () => void): Promise<Response> {
  if (conversation.prompt.stream) return relayStream(conversation, onEnd)
  const reader = answerReader(conversation)
  return relayWhole(conversation, one => askWhole(conversation, reader, one), onEnd)
}

/** As `relay`, after a step that takes time: the exchange can be ended in it as in any other. */
async function relayAfter(
  done: Promise<void>,
  conversation: Conversation,
  onEnd: () => void,
): Promise<Response> {
  const { gateway, record, interruption } = conversation
  const place = gateway.open.whole.add({ id: record.id, interruption })
  await done.finally(() => gateway.open.whole.remove(place))
  if (interruption.reason !== undefined) throw interruption.reason
  return relay(conversation, onEnd)
}

/** One request that is no conversation and its reply, from the socket to the stored result. */
export function runOperation(gateway: Gateway, call: OperationCall): Promise<Response> {
  return withRecord(gateway, call, async record => {
    const received = await receive(gateway, record, call, async () => {
      const read = await call.read(call.request, termsOf(callerOf(record), gateway), record)
      record.streamed = read.delivery === 'events'
      return read
    })
    const { asked: operation, model, strict } = received
    admitOtherModels(gateway.catalog, callerOf(record), operation)
    const work = undertake(operation, model, record)
    const interruption = interruptionBy(signalOf(call))
    const quoted = quoteOperation(operation.price, model)
    const { pass, reservation } = await admitPaid(gateway, record, quoted, interruption)
    return await billed(gateway, record, reservation, onEnd =>
      relayOperation({ ...work, gateway, record, model, strict, pass, reservation, interruption }, onEnd),
    )
  })
}

/**
 * The frame around every exchange: opens its record, and turns whatever is thrown on the way into an error of the caller's
 * format.
 *
 * Promises are handled with care here, as each turn of the microtask queue is paid by every exchange. What is there already
 * is not awaited (hence `instanceof Promise`). A promise is returned by `return await`: one turn, where a bare `return`
 * takes three. Exchanges that waited for the same batch of the ledger go on together, turn by turn, and with each turn more
 * of their data has left the CPU's caches.
 */
async function withRecord(
  gateway: Gateway,
  call: Call,
  serve: (record: ExchangeRecord) => Promise<Response>,
): Promise<Response> {
  const run = gateway.idempotency.runOf(call.request)
  const record = openRecord(run?.exchangeId() ?? gateway.newRequestId(), call.surface, gateway.clock)
  run?.observe(record)
  gateway.open.begin()
  try {
    return await serve(record)
  } catch (error) {
    return refuse(gateway, record, failureOf(error, signalOf(call)))
  }
}

/** Aborts when the caller leaves, or when whoever decides in the caller's place gives up. */
function signalOf(call: Call & Pick<ConversationCall, 'state'>): AbortSignal {
  return call.state?.signal ?? call.request.signal
}

/**
 * The first part of every exchange: who calls, what they ask, and whether they may. Fills in the record.
 * @param read reads the body, once it is known who sends it
 * @throws GatewayError of admission, and for a body that cannot be read
 */
export async function receive<Asked extends { model: string }>(
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
  const model = admitModel(gateway.catalog, record.caller, asked.model, call.surface)
  record.model = model.id
  // Under load some callers have left by now: an answer for nobody must take no place and no money.
  const left = callerLeft(call.request.signal)
  if (left !== undefined) throw left
  return { asked, model, strict }
}

/** A request that may be served. */
interface Received<Asked> {
  asked: Asked
  model: Model
  /** What the upstream's format cannot say is an error, and not a loss. */
  strict: boolean
}

/**
 * Reads the body of a conversational request, with what is stored put in place of references to it.
 * @throws GatewayError for what cannot be read
 */
export async function readPrompt(
  gateway: Gateway,
  record: ExchangeRecord,
  call: ConversationCall,
): Promise<Prompt> {
  const reader = call.surface === 'gemini' ? readGoogleBody : readBody
  const read = await reader(call.request, termsOf(callerOf(record), gateway))
  const body = call.state === undefined ? read : await call.state.resolve(read, record)
  const facts = call.readCall(body)
  record.streamed = facts.stream
  return new Prompt({ surface: call.surface, body, headers: call.request.headers, ...facts })
}

/**
 * Relays the answer, and sees to it that the hold is settled or released: at `onEnd`, which of a stream comes long after
 * this returned, or at once where there will be no answer.
 */
async function billed(
  gateway: Gateway,
  record: ExchangeRecord,
  reservation: Reservation,
  answer: (onEnd: () => void) => Promise<Response>,
): Promise<Response> {
  try {
    return await answer(endOf(gateway, record, reservation))
  } catch (error) {
    // Of an answer that had come before its hold was refused, nothing was given.
    charge(record, undefined, reservation.bill)
    void closeBill(gateway, record, reservation)
    throw error
  }
}

/** Made outside of `billed`, where the closure would keep the caller's whole request alive to the end of a stream. */
function endOf(gateway: Gateway, record: ExchangeRecord, reservation: Reservation): () => void {
  return () => close(gateway, record, closeBill(gateway, record, reservation))
}

/** Ends an exchange before anything was sent: the reply is an error in the caller's format. */
function refuse(gateway: Gateway, record: ExchangeRecord, error: GatewayError): Response {
  record.error = error
  record.status = error.status
  record.endState = endStateOf(error)
  close(gateway, record)
  return errorResponse(error, record.id, record.surface, limitHeadersOf(record, gateway.clock.now()))
}

/** Gives back what the exchange holds, and stores its result. */
function close(gateway: Gateway, record: ExchangeRecord, charged?: Promise<void>): void {
  for (const release of record.releases) release()
  endLimits(gateway, record)
  settle(record, gateway, charged)
  gateway.open.end()
}
