import { inTime } from '@/db/in-time.ts'
import { asGatewayError } from '@/errors/gateway-error.ts'
import { outlineOf, type RequestBody, textsOf } from '@/exchange/admission/body.ts'
import type { Reservation } from '@/exchange/billing/charge.ts'
import type { CallFacts, CallState, ConversationCall } from '@/exchange/call.ts'
import { runExchange } from '@/exchange/exchange.ts'
import { Interruption } from '@/exchange/interruption.ts'
import type { ExchangeRecord } from '@/exchange/record.ts'
import { answerHeaders, isEventStream } from '@/exchange/relay/reply.ts'
import { encodeFailure } from '@/formats/openai-responses/answer/error.ts'
import { emptyResponse } from '@/formats/openai-responses/answer/reply.ts'
import { asString, parseObject } from '@/json/json.ts'
import { sliceMember } from '@/json/slice.ts'
import type { ResponseChain } from '@/routing/affinity.ts'
import type { ResponseEnd } from '@/stored-responses/store.ts'
import type { BackgroundRun } from './background-run.ts'
import { inCompactionItem, wantsCompactionItem } from './compaction-item.ts'
import type { ResponseGateway } from './kept-responses.ts'
import { refersToItems, takesForStored } from './references.ts'
import { eventResponse } from './response-events.ts'
import {
  carriesCompaction,
  NOTHING_KEPT,
  openTurn,
  outputItems,
  type ResponseTurn,
  readReference,
  readStateFields,
  type StateFields,
  type TurnMemory,
} from './turn.ts'
import { type AnswerSink, finishStream, finishWhole } from './turn-answer.ts'

/**
 * A request of the Responses surface: an exchange that may go on from kept state and may be kept itself. One that
 * does neither goes its way untouched.
 */
export async function runResponse(
  gateway: ResponseGateway,
  call: ConversationCall,
  memory?: TurnMemory,
): Promise<Response> {
  const isImplied = gateway.responses.storesUnasked || takesForStored(call.request.headers)
  const state = new ResponseState(gateway, memory, isImplied && 'implied')
  const readCall = (body: RequestBody): CallFacts => {
    const facts = call.readCall(body)
    return wantsCompactionItem(outlineOf(body)) ? { ...facts, purpose: 'compaction-item' } : facts
  }
  const answer = runExchange(gateway, { ...call, readCall, state }).then(response => state.finish(response))
  return Promise.race([answer, state.detached])
}

/** What a call that has no answer to keep adds to its exchange: its body, without references. Counting tokens is one. */
export function stateForReading(gateway: ResponseGateway): CallState {
  return {
    resolve(body, record) {
      const fields = readReference(outlineOf(body))
      if (fields.previousId === undefined && isWhole(body)) return body
      return openTurn(gateway, record, { body, fields }).then(opened => opened.body)
    },
  }
}

/** Whether the items of a body are all there, for anybody to read. */
function isWhole(body: RequestBody): boolean {
  const [json, texts] = [outlineOf(body), textsOf(body)]
  return !carriesCompaction(json, texts) && !refersToItems(json, texts)
}

/** A turn, and the exchange that makes it. */
interface OpenedTurn {
  turn: ResponseTurn
  record: ExchangeRecord
}

class ResponseState implements CallState {
  /** Resolves with the first answer to the caller of a background response, which goes on without them. */
  readonly detached: Promise<Response>
  readonly #gateway: ResponseGateway
  readonly #memory: TurnMemory | undefined
  /** What a caller keeps who says nothing of `store`. */
  readonly #unsaid: StateFields['keeps']
  #detach: (response: Response) => void = () => {}
  /** Undefined for a request that touches no kept state. */
  #opened: OpenedTurn | undefined
  #asksForCompaction = false
  #run: BackgroundRun | undefined

  constructor(gateway: ResponseGateway, memory: TurnMemory | undefined, unsaid: StateFields['keeps']) {
    this.#gateway = gateway
    this.#memory = memory
    this.#unsaid = unsaid
    this.detached = new Promise(resolve => {
      this.#detach = resolve
    })
  }

  get chain(): ResponseChain | undefined {
    return this.#opened && { id: this.#opened.turn.id, previousId: this.#opened.turn.previousId }
  }

  get signal(): AbortSignal | undefined {
    return this.#run?.signal
  }

  resolve(body: RequestBody, record: ExchangeRecord): RequestBody | Promise<RequestBody> {
    const fields = readStateFields(outlineOf(body), this.#unsaid)
    this.#asksForCompaction = wantsCompactionItem(outlineOf(body))
    if (fields !== undefined) return this.#open(body, record, fields)
    const isPlain = this.#memory === undefined && !this.#asksForCompaction && isWhole(body)
    return isPlain ? body : this.#open(body, record, NOTHING_KEPT)
  }

  async #open(body: RequestBody, record: ExchangeRecord, fields: StateFields): Promise<RequestBody> {
    const { turn, body: whole } = await openTurn(this.#gateway, record, {
      body,
      fields,
      memory: this.#memory,
    })
    this.#opened = { turn, record }
    if (turn.background) this.#run = this.#gateway.responses.begin(turn.id)
    return whole
  }

  /** The money is there: a background response is stored, and its caller may leave. */
  async admitted(record: ExchangeRecord, { granted }: Reservation): Promise<void> {
    if (this.#opened === undefined || this.#run === undefined) return
    const { turn } = this.#opened
    await granted
    const { responses, clock } = this.#gateway
    const response = queuedResponse(turn)
    // One that comes late is ended as one of a process that died.
    await inTime(responses.store.add({ ...turn, status: 'queued', response, events: [] }), clock)
    this.#run.isStored = true
    const headers = answerHeaders(record, clock.now())
    record.isDetached = !turn.streams
    this.#detach(
      turn.streams
        ? eventResponse(this.#gateway, turn, { after: -1, headers, interruption: new Interruption() })
        : new Response(response, { headers: { 'content-type': 'application/json', ...headers } }),
    )
  }

  /** What the caller gets of the exchange's answer; of a background one, who got theirs before, nobody waits for it. */
  async finish(answer: Response): Promise<Response> {
    if (this.#opened === undefined) return answer
    const { turn } = this.#opened
    const response = this.#asksForCompaction
      ? await inCompactionItem(answer, { gateway: this.#gateway, ...this.#opened })
      : answer
    if (this.#run !== undefined) return this.#finishRun(response, this.#opened, this.#run)
    if (!response.ok) return response
    const sink: AnswerSink = { ended: (text, events) => this.#keep(turn, { response: text, events }) }
    const isStream = isEventStream(response.headers.get('content-type'))
    return isStream ? finishStream(response, turn, sink) : finishWhole(response, turn, sink)
  }

  /** Whether the answer was kept; one that is paid for is given in any case. */
  async #keep(
    turn: ResponseTurn,
    { response, events }: Pick<ResponseEnd, 'response' | 'events'>,
  ): Promise<boolean> {
    const id = asString(parseObject(response)?.['id'])
    if (id !== undefined) {
      this.#memory?.remember(id, [...turn.earlier, ...turn.input, ...outputItems(response)])
    }
    if (!turn.keeps) return false
    const { responses, log } = this.#gateway
    try {
      await responses.store.add({ ...turn, status: endStatus(response), response, events })
      return true
    } catch (error) {
      log.error({ err: error, response: turn.id }, 'a response could not be stored')
      return false
    }
  }

  async #finishRun(response: Response, { turn, record }: OpenedTurn, run: BackgroundRun): Promise<Response> {
    if (!response.ok) {
      const { code, message } = encodeFailure(asGatewayError(record.error), record.id)
      if (run.isStored) await run.fail(code, message)
      else run.drop()
      return response
    }
    const cut = () => run.fail('server_error', 'The response ended before it was complete')
    const told = finishStream(response, turn, {
      event: event => run.event(event),
      ended: async text => {
        await run.end({ status: endStatus(text), response: text })
        return true
      },
      cut,
    })
    try {
      await readToEnd(told, run.signal)
      // An exchange that is given up does not end its stream, since its reader is gone as a rule.
      if (run.signal.aborted) await cut()
    } catch (error) {
      this.#gateway.log.error({ err: error, response: turn.id }, 'a background response broke off')
      await cut()
    }
    return response
  }
}

/** Reads an answer that nobody waits for, until it ends or is not wanted any more. */
async function readToEnd({ body }: Response, signal: AbortSignal): Promise<void> {
  const reader = body?.getReader()
  const leave = () => void reader?.cancel().catch(() => undefined)
  signal.addEventListener('abort', leave)
  if (signal.aborted) leave()
  try {
    while ((await reader?.read())?.done === false);
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** A background response as its caller first sees it. */
function queuedResponse(turn: ResponseTurn): string {
  const createdAt = Math.floor(turn.createdAt / 1000)
  const response = emptyResponse(turn.id, turn.model, { wire: turn.wire, createdAt, status: 'queued' })
  return JSON.stringify({ ...response, store: true })
}

const END_STATUSES = ['completed', 'incomplete', 'failed', 'cancelled'] as const

/** The status that a response ended in; an upstream that says none has completed it. */
function endStatus(response: string): ResponseEnd['status'] {
  const text = sliceMember(Buffer.from(response), 'status')
  return END_STATUSES.find(status => `"${status}"` === text) ?? 'completed'
}
