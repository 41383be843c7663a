import type { EmitBytes } from '@/exchange/relay/pipeline.ts'
import { asArray, asIndex, asObject, asString, type JsonObject, parseObject } from '@/json/json.ts'
import { sliceMember } from '@/json/slice.ts'
import { type JsonEdit, spliceText } from '@/json/splice.ts'
import { formatEvent } from '@/sse/event.ts'
import { createSseParser } from '@/sse/parser.ts'
import { EventSplitter, eachEvent, MAX_EVENT_BYTES } from '@/sse/splitter.ts'
import type { StoredEvent } from '@/stored-responses/stored-response.ts'
import { doneItems } from './abrupt-end.ts'
import type { ResponseTurn } from './turn.ts'

/** Who hears of an answer as it goes to its caller. */
export interface AnswerSink {
  /** The next event of its stream. */
  event?(event: StoredEvent): void
  /**
   * The response is whole. What this resolves with is what the caller is told: `false` if it was not kept after all.
   * Nobody who was told of its end has to wait until it can be found.
   */
  ended(response: string, events: readonly StoredEvent[]): Promise<boolean>
  /** The stream broke off before its terminal event. */
  cut?(): Promise<void>
}

/** More than this is not kept of a stream's events, in bytes; the response itself still is. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024

const TERMINAL: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'response.done',
])

/** What a response object says about kept state, in place of what an upstream says that knows of none. */
function truths(turn: ResponseTurn, path: readonly string[]): JsonEdit[] {
  const edits: JsonEdit[] = [
    { path: [...path, 'previous_response_id'], value: turn.previousId ?? null },
    { path: [...path, 'store'], value: turn.keeps },
    { path: [...path, 'background'], value: turn.background },
  ]
  return turn.keeps ? [{ path: [...path, 'id'], value: turn.id }, ...edits] : edits
}

/** Says the truth about kept state in an answer that came whole, once the sink has it. */
export async function finishWhole(
  response: Response,
  turn: ResponseTurn,
  sink: AnswerSink,
): Promise<Response> {
  const told = spliceText(await response.text(), truths(turn, []))
  const isKept = await sink.ended(told, [])
  return new Response(isKept ? told : spliceText(told, [{ path: ['store'], value: false }]), response)
}

/** Says the truth about kept state in an answer that flows, and tells the sink of it; its end waits for the sink. */
export function finishStream(response: Response, turn: ResponseTurn, sink: AnswerSink): Response {
  if (response.body === null) return response
  const teller = new AnswerTeller(turn, sink)
  const told = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => teller.push(chunk, bytes => controller.enqueue(bytes)),
      flush: () => teller.end(),
    }),
  )
  return new Response(told, response)
}

/** Rewrites a stream's lifecycle events, tells the sink of every event, and holds the terminal one until it is kept. */
class AnswerTeller {
  readonly #turn: ResponseTurn
  readonly #sink: AnswerSink
  readonly #splitter = new EventSplitter(MAX_EVENT_BYTES)
  readonly #parser = createSseParser()
  readonly #events: StoredEvent[] = []
  #eventBytes = 0
  #ended = false
  /** An `error` event. Who is told of it may ask at once for what was kept, so it is told with the end. */
  #error: { event: StoredEvent; block: Buffer } | undefined

  constructor(turn: ResponseTurn, sink: AnswerSink) {
    this.#turn = turn
    this.#sink = sink
  }

  async push(chunk: Uint8Array, emit: EmitBytes): Promise<void> {
    const blocks: Buffer[] = []
    // Copies, since the splitter's views last until its next push, and an end is waited for.
    this.#splitter.push(chunk, run => eachEvent(Buffer.from(run), block => blocks.push(block)))
    for (const block of blocks) await this.#pass(block, emit)
  }

  async end(): Promise<void> {
    if (!this.#ended) await this.#sink.cut?.()
  }

  async #pass(block: Buffer, emit: EmitBytes): Promise<void> {
    const event = this.#read(block)
    if (event === undefined) return emit(block)
    const { type, number } = event
    if (type === 'error') {
      this.#error = { event, block }
      return
    }
    if (!('response' in event.json)) {
      this.#note({ number, data: event.data })
      return emit(block)
    }
    let data = spliceText(event.data, truths(this.#turn, ['response']))
    if (TERMINAL.has(type)) {
      this.#ended = true
      const error = this.#error
      if (error !== undefined) this.#note({ number: error.event.number, data: error.event.data })
      data = await this.#conclude(data, number)
      if (error !== undefined) emit(error.block)
    } else this.#note({ number, data })
    emit(Buffer.from(formatEvent(type, data)))
  }

  #read(block: Buffer): { type: string; number: number; data: string; json: JsonObject } | undefined {
    let found: string | undefined
    this.#parser.push(block, event => {
      found = event.data.replaceAll('\n', ' ')
    })
    const json = found === undefined ? undefined : parseObject(found)
    const type = asString(json?.['type'])
    if (found === undefined || json === undefined || type === undefined) return undefined
    return { type, number: asIndex(json['sequence_number']) ?? this.#events.length, data: found, json }
  }

  #note(event: StoredEvent): void {
    this.#sink.event?.(event)
    this.#eventBytes += event.data.length
    // Beyond the limit only what the response is made of.
    if (this.#eventBytes <= MAX_KEPT_BYTES || event.data.includes('output_item.done'))
      this.#events.push(event)
  }

  async #conclude(data: string, number: number): Promise<string> {
    const whole = withOutput(data, this.#events)
    this.#note({ number, data: whole })
    const response = sliceMember(Buffer.from(whole), 'response') ?? '{}'
    const events = this.#eventBytes > MAX_KEPT_BYTES ? [] : this.#events
    const isKept = await this.#sink.ended(response, events)
    return isKept ? whole : spliceText(whole, [{ path: ['response', 'store'], value: false }])
  }
}

/** An end that says of no output, as that of an answer which breaks off: the items that were done are it. */
function withOutput(data: string, events: readonly StoredEvent[]): string {
  const output = asObject(parseObject(data)?.['response'])?.['output']
  if (asArray(output).length > 0) return data
  const items = doneItems(events)
  return spliceText(data, [{ path: ['response', 'output'], text: `[${items.join(',')}]` }])
}
