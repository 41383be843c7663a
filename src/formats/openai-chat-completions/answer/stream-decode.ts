import type { GatewayError } from '@/errors/gateway-error.ts'
import { answerNumbers } from '@/formats/answer-numbers.ts'
import type { AnswerScope, DecodeContext } from '@/formats/codec.ts'
import { cumulativeUsage } from '@/formats/cumulative-usage.ts'
import { complaintIn, cutAnswer, errorInAnswer, unreadableEvent } from '@/formats/faults/fault.ts'
import { isEmpty } from '@/formats/openai-chat-completions/empty.ts'
import {
  type Ending,
  type JsonPath,
  NO_NOTE,
  type PlainNote,
  type PlainReader,
  type PlainShape,
  type StreamDecoder,
} from '@/formats/plain/plain-text.ts'
import type { Emit, EventOf } from '@/generation/event.ts'
import type { Usage } from '@/generation/usage.ts'
import {
  asArray,
  asIndex,
  asNonEmpty,
  asNumber,
  asObject,
  asString,
  isJsonObject,
  type JsonObject,
  parseJson,
} from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'
import { CandidateDecoder } from './candidate-decode.ts'
import { decodeSources, hasSources } from './citations.ts'
import { decodeBreak } from './finish.ts'
import { type ChunkHead, encodeMissingEnd, type SilentChoice } from './missing-end.ts'
import { COUNTS, readUsage } from './usage.ts'

/** Reads a stream of chunks, as OpenAI writes them and all the vendors that speak its format in ways of their own. */
export function createStreamDecoder(context: DecodeContext): StreamDecoder {
  return new ChunkDecoder(context)
}

/** OpenAI pads its chunks so that their length says nothing; local servers write the time of each. */
const shapeOf = (...path: JsonPath): PlainShape => ({
  text: ['choices', 0, 'delta', ...path],
  loose: [['id'], ['created'], ['system_fingerprint'], ['obfuscation']],
  usage: ['usage'],
})

/** Deltas that have one of these, and nothing else, are plain. */
const PLAIN = {
  content: shapeOf('content'),
  reasoning_content: shapeOf('reasoning_content'),
  reasoning: shapeOf('reasoning'),
  tool_calls: shapeOf('tool_calls', 0, 'function', 'arguments'),
} as const

class ChunkDecoder implements StreamDecoder, PlainReader {
  readonly #answer: AnswerDecoder
  readonly #isPassed: boolean
  /** The last event, if it was a chunk of the answer, until its shape was asked for. */
  #chunk: JsonObject | undefined
  #isOver = false
  #hasSaidDone = false

  constructor(context: DecodeContext) {
    this.#answer = new AnswerDecoder(context)
    this.#isPassed = context.isPassed === true
  }

  get plain(): PlainReader {
    return this
  }

  servedTier(): string | undefined {
    return this.#answer.servedTier
  }

  get ending(): Ending | undefined {
    return this.#answer.ending
  }

  plainShape(): PlainShape | undefined {
    const chunk = this.#chunk
    this.#chunk = undefined
    return chunk && this.#answer.plainShape(chunk)
  }

  plainNote(): PlainNote {
    return this.#answer.plainNote()
  }

  skipUsage(usage: JsonObject, emit: Emit): void {
    this.#answer.count({ usage }, emit)
  }

  push(event: SseEvent, emit: Emit): void {
    this.#chunk = undefined
    if (this.#isOver || event.data === '') return
    if (isDone(event.data)) {
      // OpenAI's SDKs know it in no other spelling, and fail at one with spaces.
      this.#hasSaidDone = event.data === '[DONE]'
      return this.#done(emit)
    }
    const chunk = parseChunk(event.data)
    if (chunk === undefined) return this.#unreadable(event, emit)
    if (isFault(chunk, event.event)) {
      this.#answer.count(chunk, emit)
      return this.#fail(errorInAnswer(chunk), emit)
    }
    this.#answer.push(chunk, 'delta', emit)
    if (this.#answer.broken !== undefined) return this.#fail(this.#answer.broken, emit)
    this.#chunk = chunk
  }

  end(emit: Emit): void {
    if (this.#isOver) return
    if (this.#answer.isFinished) return this.#done(emit)
    this.#fail(cutAnswer(), emit)
  }

  missingEnd(): string {
    const silent = this.#answer.silentChoices
    return this.#hasSaidDone && silent.length === 0 ? '' : encodeMissingEnd(this.#answer.head, silent)
  }

  /**
   * `[DONE]` is an end, with a finish reason before it or without, as long as there was an answer: without one in the
   * middle of a call, or behind thought, it is what gateways in between write behind an answer that was cut.
   */
  #done(emit: Emit): void {
    const isCut = !this.#isPassed && this.#answer.isCut
    if (!this.#answer.hasBegun || isCut) return this.#fail(cutAnswer(), emit)
    this.#isOver = true
    this.#answer.end(emit)
  }

  #unreadable(event: SseEvent, emit: Emit): void {
    // Broken JSON is lost output; other text is some vendor's way of keeping the connection alive.
    const isLost = !this.#answer.isFinished && /^\s*[{[]/.test(event.data)
    if (isLost || event.event === 'error') this.#fail(unreadableEvent(event.data), emit)
  }

  #fail(error: GatewayError, emit: Emit): void {
    this.#isOver = true
    this.#answer.breakOff(emit)
    emit({ type: 'error', error })
  }
}

/** Reads chunks, or a whole answer as one chunk whose deltas are messages: the same fields in both. */
export class AnswerDecoder {
  readonly #candidates = new Map<number, CandidateDecoder>()
  readonly #scope: AnswerScope
  /** How many choices were asked for. */
  readonly #asked: number
  readonly #numberOf: (index: number) => number
  /** The error in which one of its choices ended. */
  broken: GatewayError | undefined
  /** The one to whose call plain events give input. */
  #calling: CandidateDecoder | undefined
  #started: EventOf<'start'> | undefined
  #usage: Usage | undefined
  /** The last chunk told the usage, and had no choices. */
  #hasLastUsage = false
  /** Whether the last chunk told one, wherever it has it. */
  #tellsUsage = false
  /** As the first chunk says it. */
  #createdAt: number | undefined
  #blocks = 0
  /** The last chunk that names sources beside its choices, as some vendors do with every one. */
  #sourced: JsonObject | undefined

  constructor(context: DecodeContext) {
    const { answers, ...scope } = context
    this.#scope = { ...scope, nextBlock: () => this.#blocks++ }
    this.#asked = answers ?? 1
    this.#numberOf = answerNumbers(answers)
  }

  get hasBegun(): boolean {
    return this.#candidates.size > 0
  }

  /**
   * All choices said why they end. One that was asked for and has not begun may still come, but not behind the usage; an
   * upstream that gives fewer than were asked for, and tells none, says `[DONE]`.
   */
  get isFinished(): boolean {
    const mayMoreCome = this.#candidates.size < this.#asked && !this.#tellsUsage
    if (this.#candidates.size === 0 || mayMoreCome) return false
    for (const candidate of this.#candidates.values()) if (!candidate.isFinished) return false
    return true
  }

  get ending(): Ending | undefined {
    if (!this.isFinished) return undefined
    return this.#hasLastUsage ? 'all' : 'reason'
  }

  /** Whether one of its choices was cut in the middle of a call or of thought. */
  get isCut(): boolean {
    for (const candidate of this.#candidates.values()) if (candidate.isCut) return true
    return false
  }

  get servedTier(): string | undefined {
    return this.#started?.serviceTier
  }

  get head(): ChunkHead {
    return { id: this.#started?.id, model: this.#started?.model, created: this.#createdAt }
  }

  /** Those that gave no reason for their end. */
  get silentChoices(): SilentChoice[] {
    const silent: SilentChoice[] = []
    for (const [index, { isFinished, hasCalls }] of this.#candidates) {
      if (!isFinished) silent.push({ index, hasCalls })
    }
    return silent
  }

  /** See PlainReader, for the chunk that was pushed last. */
  plainShape(chunk: JsonObject): PlainShape | undefined {
    const [choice, ...others] = asArray(chunk['choices'])
    if (!isJsonObject(choice) || others.length > 0 || chunk['x_groq'] !== undefined) return undefined
    const { index, delta, logprobs, usage, finish_reason } = choice
    if (!isJsonObject(delta) || ![logprobs, usage, finish_reason].every(isEmpty)) return undefined
    const { role, ...more } = delta
    const [name, ...rest] = Object.keys(more).filter(key => !isEmpty(more[key]))
    const candidate = this.#candidates.get(asIndex(index) ?? 0)
    this.#calling = undefined
    if (rest.length > 0 || candidate === undefined) return undefined
    switch (name) {
      case 'content':
        return typeof delta[name] === 'string' && candidate.isIn('text') ? PLAIN[name] : undefined
      case 'reasoning_content':
      case 'reasoning':
        return candidate.isIn('reasoning') ? PLAIN[name] : undefined
      case 'tool_calls':
        this.#calling = candidate
        return candidate.isInCall(asArray(delta[name])) ? PLAIN[name] : undefined
      default:
        return undefined
    }
  }

  /** See PlainReader. */
  plainNote(): PlainNote {
    const calling = this.#calling
    return calling === undefined ? NO_NOTE : { of: 'text', add: input => calling.skipInput(input) }
  }

  push(chunk: JsonObject, field: 'delta' | 'message', emit: Emit): void {
    const choices = chunk['choices']
    this.#tellsUsage = false
    this.#hasLastUsage = asArray(choices).length === 0 && asObject(chunk['usage']) !== undefined
    if (Array.isArray(choices)) {
      for (let position = 0; position < choices.length; position += 1) {
        const choice = asObject(choices[position])
        if (choice !== undefined) this.#pushChoice(chunk, choice, position, field, emit)
      }
    }
    if (hasSources(chunk)) this.#sourced = chunk
    for (const name of BESIDE) {
      if (chunk[name] !== undefined) this.#candidates.get(0)?.strange(name, chunk[name], emit)
    }
    this.count(chunk, emit)
  }

  /** Reads the usage of a chunk, wherever the vendor puts it. */
  count(chunk: JsonObject, emit: Emit): void {
    this.#count(chunk, asObject(chunk['usage']) ?? asObject(asObject(chunk['x_groq'])?.['usage']), emit)
  }

  #count(chunk: JsonObject, usage: JsonObject | undefined, emit: Emit): void {
    if (usage !== undefined) this.#tellsUsage = true
    const told = cumulativeUsage(usage, readUsage(usage), this.#usage, COUNTS)
    if (told === undefined) return
    this.#usage = told.usage
    this.#start(chunk, emit)
    emit(told)
  }

  /** The answer goes on no more: what was held back until its rest would come. */
  breakOff(emit: Emit): void {
    for (const candidate of this.#candidates.values()) candidate.breakOff(emit)
  }

  /** The answer is complete: the finishes that waited. */
  end(emit: Emit): void {
    const sources = this.#sourced === undefined ? [] : decodeSources(this.#sourced)
    for (const candidate of this.#candidates.values()) candidate.end(sources, emit)
  }

  #pushChoice(
    chunk: JsonObject,
    choice: JsonObject,
    position: number,
    field: 'delta' | 'message',
    emit: Emit,
  ): void {
    this.#start(chunk, emit)
    const index = asIndex(choice['index']) ?? position
    let candidate = this.#candidates.get(index)
    const isNew = candidate === undefined
    if (candidate === undefined) {
      candidate = new CandidateDecoder(this.#numberOf(index), this.#scope)
      this.#candidates.set(index, candidate)
    }
    // A vendor that answers whole in one event writes a message where others write a delta.
    const delta = asObject(choice[field]) ?? (isNew ? asObject(choice['message']) : undefined)
    if (delta !== undefined) candidate.push(delta, emit)
    this.#pushLogprobs(choice, candidate.index, emit)
    this.#count(chunk, asObject(choice['usage']), emit)
    const { finish_reason: reason, error } = choice
    if (error !== undefined || typeof reason === 'string') this.broken ??= decodeBreak(choice)
    if (typeof reason === 'string' && reason !== '') candidate.finish(choice, emit)
  }

  #pushLogprobs(choice: JsonObject, candidate: number, emit: Emit): void {
    const logprobs = choice['logprobs']
    if (logprobs === undefined || logprobs === null) return
    const content = asArray(asObject(logprobs)?.['content'])
    if (content.length > 0) emit({ type: 'logprobs', candidate, content })
  }

  /** Azure's first chunk has neither id nor choices: the start waits for one that says something. A tier may come late. */
  #start(chunk: JsonObject, emit: Emit): void {
    const known = this.#started
    const serviceTier = asString(chunk['service_tier']) || known?.serviceTier
    if (known !== undefined && known.serviceTier === serviceTier) return
    this.#createdAt ??= asNumber(chunk['created'])
    this.#started = {
      type: 'start',
      id: known?.id ?? asNonEmpty(chunk['id']),
      model: known?.model ?? asNonEmpty(chunk['model']),
      serviceTier,
    }
    emit(this.#started)
  }
}

/** What Perplexity found beside an answer's sources, and LiteLLM hands on of Gemini's; no other format has a place for it. */
const BESIDE = ['images', 'videos', 'related_questions', 'vertex_ai_grounding_metadata'] as const

function isDone(data: string): boolean {
  return data.length < 32 && data.trim() === '[DONE]'
}

function parseChunk(data: string): JsonObject | undefined {
  try {
    const value = parseJson(data)
    // An error may stand in an array (Gemini's own surface of this format).
    return asObject(Array.isArray(value) ? value[0] : value)
  } catch {
    return undefined
  }
}

/** An error in the place of a chunk: under `error`, as a bare message, or in an event of that name. */
export function isFault(body: JsonObject, event: string | undefined): boolean {
  const error = body['error']
  if (typeof error === 'object' ? error !== null : typeof error === 'string' && error !== '') return true
  if (event === 'error' || body['object'] === 'error' || body['type'] === 'error') return true
  // MiniMax's, beside choices that are none.
  if (asArray(body['choices']).length === 0 && asNumber(asObject(body['base_resp'])?.['status_code']))
    return true
  if (body['choices'] !== undefined || asObject(body['usage']) !== undefined) return false
  return complaintIn(body) !== undefined
}
