import type { GatewayError } from '@/errors/gateway-error.ts'
import { answerNumbers } from '@/formats/answer-numbers.ts'
import type { AnswerScope, DecodeContext } from '@/formats/codec.ts'
import { cumulativeUsage } from '@/formats/cumulative-usage.ts'
import { complaintIn, cutAnswer, errorInAnswer, unreadableEvent } from '@/formats/faults/fault.ts'
import { DATA_KEYS } from '@/formats/gemini-generate-content/wire.ts'
import {
  type Ending,
  NO_NOTE,
  type PlainNote,
  type PlainReader,
  type PlainShape,
  type StreamDecoder,
} from '@/formats/plain/plain-text.ts'
import type { Emit, EventOf } from '@/generation/event.ts'
import type { Usage } from '@/generation/usage.ts'
import { withDigits } from '@/json/exact.ts'
import {
  asArray,
  asIndex,
  asObject,
  asObjects,
  asString,
  isJsonObject,
  type JsonObject,
  parseJson,
} from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'
import { CandidateDecoder } from './candidate-decode.ts'
import { decodeBlockReason } from './finish.ts'
import { COUNTS, readUsage, tierIn } from './usage.ts'

const PLAIN: PlainShape = {
  text: ['candidates', 0, 'content', 'parts', 0, 'text'],
  loose: [['responseId']],
  usage: ['usageMetadata'],
}

/** What else a chunk or its candidate may tell that is read here. */
const TELLING = ['finishReason', 'logprobsResult', 'groundingMetadata', 'citationMetadata', 'promptFeedback']

/** Reads the stream of one answer. */
export function createStreamDecoder(context: DecodeContext): StreamDecoder {
  return new GeminiDecoder(context)
}

/** Reads the chunks of an answer, whose parts are increments. One answer, whole or streamed. */
export class GeminiDecoder implements StreamDecoder, PlainReader {
  readonly #scope: AnswerScope
  readonly #numberOf: (index: number) => number
  /** How many candidates were asked for. */
  readonly #asked: number
  readonly #candidates = new Map<number, CandidateDecoder>()
  /** The last chunk, until its shape was asked for, and the candidate that it was about. */
  #chunk: JsonObject | undefined
  #candidate: CandidateDecoder | undefined
  /** The event that ended the answer, until another one comes. */
  #end = ''
  #blocks = 0
  #started: EventOf<'start'> | undefined
  #failed = false
  #usage: Usage | undefined
  #servedTier: string | undefined

  constructor(context: DecodeContext) {
    const { answers, ...scope } = context
    this.#scope = { ...scope, nextBlock: () => this.#blocks++ }
    this.#asked = answers ?? 1
    this.#numberOf = answerNumbers(answers)
  }

  get plain(): PlainReader {
    return this
  }

  servedTier(): string | undefined {
    return this.#servedTier
  }

  plainShape(): PlainShape | undefined {
    const chunk = this.#chunk
    this.#chunk = undefined
    return chunk !== undefined && this.#isPlain(chunk) ? PLAIN : undefined
  }

  plainNote(): PlainNote {
    return this.#candidate?.plainNote() ?? NO_NOTE
  }

  skipUsage(usage: JsonObject, emit: Emit): void {
    this.#count(usage, emit)
  }

  push(event: SseEvent, emit: Emit): void {
    // An end that comes a second time, word for word, is the same end.
    if (this.#failed || (this.#end !== '' && event.data === this.#end)) return
    this.#end = ''
    try {
      for (const chunk of chunksOf(event.data)) this.read(chunk, emit)
    } catch {
      this.#fail(emit, unreadableEvent(event.data))
    }
    if (this.#hasEnded) this.#end = event.data
  }

  get #hasEnded(): boolean {
    for (const candidate of this.#candidates.values()) if (!candidate.isFinished) return false
    return this.#candidates.size > 0
  }

  get #mayLackSome(): boolean {
    return this.#candidates.size < this.#asked
  }

  get ending(): Ending | undefined {
    return this.#mayLackSome && this.#hasEnded ? 'some' : undefined
  }

  /** Fewer candidates than were asked for are all that there are, unless the connection broke before others began. */
  end(emit: Emit, broken = false): void {
    if (this.#failed) return
    for (const candidate of this.#candidates.values()) candidate.end(emit)
    if (this.#hasEnded && !(broken && this.#mayLackSome)) return
    this.#fail(emit, cutAnswer())
  }

  /** One GenerateContentResponse of the answer. */
  read(chunk: JsonObject, emit: Emit): void {
    if (this.#failed) return
    const candidates = asObjects(chunk['candidates'])
    const hasError = chunk['error'] !== undefined && chunk['error'] !== null
    const complaint = hasError ? errorInAnswer(chunk) : candidates.length > 0 ? undefined : complaintIn(chunk)
    if (complaint !== undefined) return this.#fail(emit, complaint)
    this.#start(chunk, emit)
    this.#chunk = chunk
    const decoders = numbersOf(candidates).map(number => this.#decoderOf(number))
    this.#candidate = decoders[0]
    for (const [at, decoder] of decoders.entries()) decoder.readParts(candidates[at] ?? {}, emit)
    this.#count(asObject(chunk['usageMetadata']), emit)
    for (const [at, decoder] of decoders.entries()) decoder.readFinish(candidates[at] ?? {}, emit)
    this.#readPromptFeedback(asObject(chunk['promptFeedback']), emit)
  }

  #isPlain(chunk: JsonObject): boolean {
    const [candidate, ...others] = asArray(chunk['candidates'])
    if (!isJsonObject(candidate) || others.length > 0) return false
    const [part, ...more] = asArray(asObject(candidate['content'])?.['parts'])
    if (!isJsonObject(part) || more.length > 0 || typeof part['text'] !== 'string') return false
    const known = part['thought'] === true ? 2 : 1
    if (Object.keys(part).length > known) return false
    if (TELLING.some(name => (chunk[name] ?? candidate[name] ?? null) !== null)) return false
    return this.#candidate?.isPlain === true
  }

  #count(metadata: JsonObject | undefined, emit: Emit): void {
    this.#servedTier = tierIn(metadata) ?? this.#servedTier
    const told = cumulativeUsage(metadata, readUsage(metadata), this.#usage, COUNTS)
    if (told === undefined) return
    this.#usage = told.usage
    emit(told)
  }

  #start(chunk: JsonObject, emit: Emit): void {
    const known = this.#started
    const serviceTier = asString(asObject(chunk['usageMetadata'])?.['serviceTier']) ?? known?.serviceTier
    if (known !== undefined && known.serviceTier === serviceTier) return
    this.#started = {
      type: 'start',
      id: known?.id ?? asString(chunk['responseId']),
      model: known?.model ?? asString(chunk['modelVersion']),
      serviceTier,
    }
    emit(this.#started)
  }

  #decoderOf(index: number): CandidateDecoder {
    const known = this.#candidates.get(index)
    if (known !== undefined) return known
    const decoder = new CandidateDecoder(this.#numberOf(index), this.#scope)
    this.#candidates.set(index, decoder)
    return decoder
  }

  #readPromptFeedback(feedback: JsonObject | undefined, emit: Emit): void {
    const reason = decodeBlockReason(feedback?.['blockReason'])
    if (reason === undefined) return
    const candidate = this.#decoderOf(0)
    if (candidate.isFinished) return
    const text = asString(feedback?.['blockReasonMessage'])
    candidate.finish('prompt-blocked', text === undefined ? reason : `${reason}: ${text}`, emit)
  }

  #fail(emit: Emit, error: GatewayError): void {
    this.#failed = true
    emit({ type: 'error', error })
  }
}

/** The numbers of a chunk's candidates. Proto JSON leaves out a zero; where none has a number they stand in order. */
function numbersOf(candidates: readonly JsonObject[]): number[] {
  const given = candidates.map(candidate => asIndex(candidate['index']))
  const isSilent = given.every(index => index === undefined)
  return given.map((index, position) => index ?? (isSilent ? position : 0))
}

/**
 * The responses in one event's data: one as a rule, several where an upstream streams its JSON array (`[{…}`, `,{…}`,
 * `]`) as events.
 * @throws SyntaxError when the data is no JSON.
 */
function chunksOf(data: string): JsonObject[] {
  // The usual event, before anything is looked for in it.
  if (data.startsWith('{') && data.endsWith('}')) {
    const chunk = parseChunk(data)
    return isJsonObject(chunk) ? [chunk] : []
  }
  const text = data.trim()
  if (text === '[DONE]' || /^[\s,[\]]*$/.test(text)) return []
  const value = /^[[,]|[,\]]$/.test(text) ? parseElements(text) : parseChunk(text)
  return (Array.isArray(value) ? value : [value]).filter(isJsonObject)
}

function parseElements(text: string): unknown {
  // The end is looked for from where it begins alone, since from each of its signs would take their square.
  const elements = text.replace(/^[\s,[]+/, '').replace(/(?<![\s,\]])[\s,\]]+$/, '')
  return asArray(asObject(parseChunk(`{"elements":[${elements}]}`))?.['elements'])
}

function parseChunk(text: string): unknown {
  const value = parseJson(text)
  // Few chunks have any, and nearly all of an answer's chunks come here.
  const mayHaveData = text.includes('"functionCall"')
  return mayHaveData && isJsonObject(value) ? withDigits(value, () => text, DATA_KEYS) : value
}
