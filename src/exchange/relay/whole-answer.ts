import { GatewayError } from '@/errors/gateway-error.ts'
import { freeBytes } from '@/exchange/admission/body.ts'
import { type AnswerListener, notJson } from '@/exchange/attempt/answer-body.ts'
import { formOf } from '@/exchange/attempt/answer-form.ts'
import { faultInBody, judgeEarly } from '@/exchange/attempt/attempt.ts'
import { freeSent, type Preparation } from '@/exchange/attempt/preparation.ts'
import { Meter } from '@/exchange/billing/meter.ts'
import type { Told } from '@/exchange/billing/used-up.ts'
import type { Conversation } from '@/exchange/conversation.ts'
import { answerLosses } from '@/formats/answer-losses.ts'
import type { Codec, DecodeContext } from '@/formats/codec.ts'
import type { StreamDecoder } from '@/formats/plain/plain-text.ts'
import { collect } from '@/generation/collect.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import { compose, runMachine, type StreamMachine } from '@/generation/machine.ts'
import { replay } from '@/generation/replay.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import type { Usage } from '@/generation/usage.ts'
import { withDigits } from '@/json/exact.ts'
import { asArray, asObject, isJsonObject, type JsonObject, type JsonValue, parseJson } from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'
import { createSseParser } from '@/sse/parser.ts'
import type { AnswerReader, CallerAnswer } from './whole.ts'

const utf8 = new TextDecoder()

/** Takes in the whole answer to a conversation. */
export function answerReader({
  prompt,
  reservation: { bill },
}: Conversation): AnswerReader<Preparation, CallerAnswer> {
  return {
    read: (bytes, _headers, { preparation }) => {
      freeSent(preparation, prompt)
      const answer = readWhole(bytes, preparation, told => bill.usedUpWhole(told).usage)
      freeBytes(prompt.body.bytes)
      const { body, losses, told, servedTier } = answer
      return { body, contentType: 'application/json', used: bill.usedUpWhole(told, servedTier), losses }
    },
    listen: answerListener,
  }
}

/** Hears where an answer ends that comes as events, although nobody asked for a stream. */
export function answerListener({ preparation }: { preparation: Heard }): AnswerListener {
  return new EventListener(preparation)
}

/** What is known of an answer before it comes. */
type Heard = Pick<Preparation, 'codec' | 'decodeContext'>

class EventListener implements AnswerListener {
  readonly #preparation: Heard
  #form: ReturnType<typeof formOf>
  /** Made once it is known that they are events, which is hardly ever. */
  #meter: Meter | undefined
  #events: StreamMachine<Uint8Array, GenerationEvent> | undefined
  #decoder: StreamDecoder | undefined

  constructor(preparation: Heard) {
    this.#preparation = preparation
  }

  get finished(): boolean {
    const hasEnd = this.#meter?.finished === true || this.#decoder?.ending === 'all'
    return hasEnd && this.#meter?.error === undefined
  }

  get isWhole(): boolean {
    return this.finished || (this.#decoder?.ending === 'reason' && this.#meter?.error === undefined)
  }

  get isConclusive(): boolean {
    return this.finished && this.#meter?.wholeUsage !== undefined && this.#decoder?.ending !== 'some'
  }

  hear(chunk: Uint8Array): void {
    this.#form ??= formOf(chunk)
    if (this.#form !== 'events') return
    const { codec, decodeContext } = this.#preparation
    this.#meter ??= new Meter()
    const meter = this.#meter
    this.#decoder ??= codec.createStreamDecoder(decodeContext)
    this.#events ??= compose(createSseParser(), this.#decoder)
    this.#events.push(chunk, event => meter.observe(event))
  }
}

/** An answer that the caller gets in one piece. */
interface WholeAnswer {
  body: Uint8Array | string
  told: Told
  /** What of the answer the caller's format has no word for; undefined: it says all of it. */
  losses: ReadonlySet<string> | undefined
  /** The upstream's word for the service tier that served it; undefined: it says none. */
  servedTier: string | undefined
}

/**
 * Reads a whole answer for a caller who wants it whole. In passthrough the bytes stay as they are and are only
 * looked at; an upstream that streams although nobody asked is collected.
 * @param count what an answer has used that reports no usage, for callers who must be told some
 * @throws GatewayError for an error inside a 200, and for what is no answer at all
 */
function readWhole(bytes: Uint8Array, preparation: Preparation, count: (told: Told) => Usage): WholeAnswer {
  const text = utf8.decode(bytes)
  const json = parseAnswer(text)
  const isCompacting = preparation.call.kind === 'compact'
  if (!isJsonObject(json)) {
    const { response, servedTier } = collectEvents(eventsIn(json, bytes, text, preparation), preparation)
    if (isCompacting) throw notCompacted()
    return { ...writeWhole(response, preparation, count), servedTier }
  }
  const fault = faultInBody(json, () => text)
  if (fault !== undefined) throw fault
  const { codec, conversion, decodeContext } = preparation
  const servedTier = codec.servedTier(json)
  if (conversion === undefined) {
    const told = tellWhole(json, codec, decodeContext)
    if (isCompacting && !holdsCompaction(json)) throw notCompacted()
    return { body: bytes, told, losses: undefined, servedTier }
  }
  return { ...writeWhole(decodeWhole(json, text, preparation), preparation, count), servedTier }
}

/** Whether an answer is a compaction; Codex knows an item `compaction_summary` as well. */
function holdsCompaction({ output }: JsonObject): boolean {
  return asArray(output).some(item => /^compaction/.test(String(asObject(item)?.['type'])))
}

/** What an upstream says with a 200 that has no call for compacting, and went on with the conversation. */
function notCompacted(): GatewayError {
  const message = 'The upstream answered without a compaction'
  return new GatewayError('upstream_rejected', message, { status: 404 })
}

/** Of an answer whose bytes are passed on only the cost is of interest, and it is read only where it reports none. */
function tellWhole(json: JsonObject, codec: Codec, context: DecodeContext): Told {
  const usage = codec.reportedUsage(json)
  return usage === undefined ? decodeBody(json, codec, context) : { usage }
}

/** An error that stands within the answer itself is judged like one in its place. */
function decodeBody(json: JsonObject, codec: Codec, context: DecodeContext): GenerationResponse {
  try {
    return codec.decodeResponse(json, context)
  } catch (error) {
    throw error instanceof GatewayError ? judgeEarly(error) : error
  }
}

/** The events of an answer that came whole although a stream was asked for. */
export function eventsOfWhole(json: JsonObject, text: string, preparation: Preparation): GenerationEvent[] {
  const fault = faultInBody(json, () => text)
  if (fault !== undefined) return [{ type: 'error', error: fault }]
  return replay(decodeWhole(json, text, preparation))
}

function decodeWhole(
  json: JsonObject,
  text: string,
  { codec, decodeContext }: Preparation,
): GenerationResponse {
  return decodeBody(
    withDigits(json, () => text, codec.dataKeys),
    codec,
    decodeContext,
  )
}

function writeWhole(
  response: GenerationResponse,
  preparation: Preparation,
  count: (told: Told) => Usage,
): Omit<WholeAnswer, 'servedTier'> {
  const { conversion, codec } = preparation
  const raiser = conversion?.createRaiser?.()
  const raised = raiser === undefined ? response : collect(runMachine(raiser, replay(response)))
  const caller = conversion?.caller ?? codec
  const isTold = caller.alwaysTellsUsage || raised.usageSoFar !== undefined
  const isCounted = isTold && raised.usage === undefined
  const shown = isCounted ? { ...raised, usage: count(raised) } : raised
  const body = caller.encodeResponse(shown, preparation.reply())
  return { body: JSON.stringify(body), told: raised, losses: answerLosses(raised, caller) }
}

/** A body as JSON; undefined for what is none. */
export function parseAnswer(text: string): JsonValue | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** The events of an answer that came as one JSON array, as Gemini streams it and writes errors. */
export function eventsOfArray(parts: JsonValue[], text: string, { codec }: Preparation): SseEvent[] {
  const exact = withDigits({ parts }, () => `{"parts":${text}}`, codec.dataKeys)
  return asArray(exact['parts']).map(part => ({ event: undefined, data: JSON.stringify(part) }))
}

/** The events of a body that is no JSON object. */
function eventsIn(
  json: JsonValue | undefined,
  bytes: Uint8Array,
  text: string,
  preparation: Preparation,
): SseEvent[] {
  if (Array.isArray(json)) return eventsOfArray(json, text, preparation)
  if (!/^\s*(?:data|event|id|retry)?:/.test(text)) throw notJson(bytes)
  return runMachine(createSseParser(), [bytes])
}

function collectEvents(
  events: readonly SseEvent[],
  preparation: Preparation,
): { response: GenerationResponse; servedTier: string | undefined } {
  const generation: GenerationEvent[] = []
  const decoder = preparation.codec.createStreamDecoder(preparation.decodeContext)
  const take = (event: GenerationEvent) => generation.push(event)
  for (const event of events) decoder.push(event, take)
  decoder.end(take)
  const failure = generation.find(event => event.type === 'error')
  if (failure !== undefined) throw judgeEarly(failure.error)
  return { response: collect(generation), servedTier: decoder.servedTier() }
}
