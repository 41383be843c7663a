import { GatewayError } from '@/errors/gateway-error.ts'
import type { DecodeContext } from '@/formats/codec.ts'
import { brokenAnswer, errorInAnswer } from '@/formats/faults/fault.ts'
import {
  NO_NOTE,
  type PlainNote,
  type PlainReader,
  type PlainShape,
  type StreamDecoder,
} from '@/formats/plain/plain-text.ts'
import { joinPairs } from '@/formats/surrogates.ts'
import type { Emit, EventOf } from '@/generation/event.ts'
import type { Signature } from '@/generation/part.ts'
import type { StopReason } from '@/generation/response.ts'
import { parseExactObject, withDigits } from '@/json/exact.ts'
import {
  asArray,
  asIndex,
  asObject,
  asObjects,
  asString,
  isJsonObject,
  type JsonObject,
  parseJson,
  present,
} from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'
import { decodeOpaque } from './contents-decode.ts'
import { decodeBlockReason, decodeFinishReason, isVague } from './finish.ts'
import { decodeCitations, type SaidText } from './grounding.ts'
import { decodeLogprobs } from './logprobs.ts'
import { decodeAnswerMedia, wordsAlone } from './media.ts'
import { PartialArgs } from './partial-args.ts'
import { readUsage, tierIn } from './usage.ts'
import { DATA_KEYS, FORMAT } from './wire.ts'

interface TextBlock extends SaidText {
  type: 'text'
  block: number
  cited: Set<string> | undefined
  signature: Signature | undefined
  /** The first half of a surrogate pair whose second half is yet to come. */
  held: string
}

/** The text that the next part may continue. */
type OpenBlock =
  | TextBlock
  | { type: 'reasoning'; block: number; signature: Signature | undefined; held: string }

/** A call that nameless parts may continue. */
interface OpenCall {
  block: number
  id: string
  args: PartialArgs
  signature: Signature | undefined
  /** It said that there is more; else it only has no arguments yet. */
  willContinue: boolean
}

interface CandidateState {
  index: number
  open: OpenBlock | undefined
  call: OpenCall | undefined
  /** What calls with ids of the upstream's said, by their ids. */
  said: Map<string, string>
  /** Arguments came that belong to no call. */
  hasLostCall: boolean
  /** Its texts so far: sources may come when theirs is over. */
  texts: TextBlock[]
  /** How many parts it has, pieces of one taken together. */
  parts: number
  called: boolean
  /** The last reason to end; some upstreams give one with every chunk. */
  end: { reason: StopReason; message: string | undefined } | undefined
  /** Whether nothing has come since then. */
  finished: boolean
  /** How often a chunk gave `FINISH_REASON_UNSPECIFIED`, and whether the last one did. */
  vague: { times: number; isLast: boolean }
}

/** What a part may hold instead of text. */
const DATA = ['functionCall', 'inlineData', 'fileData', 'executableCode', 'codeExecutionResult'] as const

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
  readonly #context: DecodeContext
  readonly #candidates = new Map<number, CandidateState>()
  /** The last chunk, until its shape was asked for, and the text that it continued. */
  #chunk: JsonObject | undefined
  #text: OpenBlock | undefined
  /** The event that ended the answer, until another one comes. */
  #end = ''
  #blocks = 0
  #started: EventOf<'start'> | undefined
  #failed = false
  #servedTier: string | undefined

  constructor(context: DecodeContext) {
    this.#context = context
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
    const text = this.#text
    return text?.type === 'text' ? { of: 'text', add: said => (text.text += said) } : NO_NOTE
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
    } catch (cause) {
      this.#fail(emit, new GatewayError('upstream_error', 'The upstream sent an unreadable event', { cause }))
    }
    if (this.#hasEnded) this.#end = event.data
  }

  get #hasEnded(): boolean {
    for (const state of this.#candidates.values()) if (!state.finished) return false
    return this.#candidates.size > 0
  }

  end(emit: Emit): void {
    if (this.#failed) return
    const states = [...this.#candidates.values()]
    for (const state of states) {
      const { end } = state
      if (end !== undefined && !state.finished) this.#finish(state, end.reason, end.message, emit)
      // Said once, at the end, it is a reason; said in every chunk it is how the upstream says nothing.
      const isEnd = !state.finished && state.vague.isLast && state.vague.times === 1
      if (isEnd) this.#finish(state, 'other', undefined, emit)
    }
    if (this.#hasEnded) return
    const problem =
      this.#started !== undefined ? 'ended its answer without a finish reason' : 'closed without an answer'
    this.#fail(emit, brokenAnswer(`The upstream ${problem}`))
  }

  /** One GenerateContentResponse of the answer. */
  read(chunk: JsonObject, emit: Emit): void {
    if (this.#failed) return
    if (chunk['error'] !== undefined && chunk['error'] !== null) {
      this.#fail(emit, errorInAnswer(chunk))
      return
    }
    this.#start(chunk, emit)
    this.#chunk = chunk
    this.#text = undefined
    const candidates = asObjects(chunk['candidates'])
    const numbers = numbersOf(candidates)
    const states = candidates.map((_, position) => this.#stateOf(numbers[position] ?? 0))
    for (const [position, state] of states.entries()) this.#readParts(state, candidates[position] ?? {}, emit)
    this.#count(asObject(chunk['usageMetadata']), emit)
    for (const [position, state] of states.entries())
      this.#readFinish(state, candidates[position] ?? {}, emit)
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
    return this.#text !== undefined && this.#text.signature === undefined && this.#text.held === ''
  }

  #count(metadata: JsonObject | undefined, emit: Emit): void {
    this.#servedTier = tierIn(metadata) ?? this.#servedTier
    const usage = readUsage(metadata)
    if (usage !== undefined) emit({ type: 'usage', usage })
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

  #readParts(state: CandidateState, candidate: JsonObject, emit: Emit): void {
    // Before the parts, as one of them may be the end of the text that they are about.
    const logprobs = decodeLogprobs(asObject(candidate['logprobsResult']))
    if (logprobs.length > 0) emit({ type: 'logprobs', candidate: state.index, content: logprobs })
    const parts = asObjects(asObject(candidate['content'])?.['parts'])
    const lastText = parts.findLastIndex(part => part['text'] !== undefined)
    for (const [at, part] of parts.entries()) {
      // What follows the last text ends it, and the chunk's sources are about it.
      if (at > lastText) this.#cite(state, candidate, emit)
      this.#readPart(state, part, emit)
    }
  }

  #stateOf(index: number): CandidateState {
    const known = this.#candidates.get(index)
    if (known !== undefined) return known
    const state: CandidateState = {
      index,
      open: undefined,
      call: undefined,
      said: new Map(),
      hasLostCall: false,
      texts: [],
      parts: 0,
      called: false,
      end: undefined,
      finished: false,
      vague: { times: 0, isLast: false },
    }
    this.#candidates.set(index, state)
    return state
  }

  #readPart(state: CandidateState, part: JsonObject, emit: Emit): void {
    if (part['text'] !== undefined && DATA.some(name => isJsonObject(part[name]))) {
      // Servers that write every field of a part have an empty text beside what it holds.
      const { text: words, thoughtSignature, ...data } = part
      this.#readPart(state, present({ text: words, thought: part['thought'] }), emit)
      return this.#readPart(state, present({ ...data, thoughtSignature }), emit)
    }
    const text = asString(part['text']) ?? wordsAlone(part)
    const signature = this.#signature(part)
    if (text !== undefined) {
      if (text === '' && signature === undefined) return
      if (part['thought'] === true) this.#readThought(state, text, signature, emit)
      else this.#readText(state, text, signature, emit)
      return
    }
    const call = asObject(part['functionCall'])
    if (call !== undefined) return this.#readCall(state, call, signature, emit)
    const media = part['thought'] === true ? undefined : decodeAnswerMedia(part)
    const opaque = media === undefined ? decodeOpaque(part) : undefined
    if (media !== undefined || opaque !== undefined) this.#turn(state, emit)
    const candidate = state.index
    if (media !== undefined) {
      emit({ type: 'media', candidate, block: this.#begin(state), media: { ...media, signature } })
    } else if (opaque !== undefined)
      emit({ type: 'opaque', candidate, block: this.#begin(state), part: opaque })
    else if (signature !== undefined) this.#readText(state, '', signature, emit)
  }

  /** The number of a block that begins. */
  #begin(state: CandidateState): number {
    state.parts += 1
    state.finished = false
    return this.#blocks++
  }

  #signature(part: JsonObject): Signature | undefined {
    const value = asString(part['thoughtSignature'])
    if (value === undefined || value === '') return undefined
    return { format: FORMAT, vendor: this.#context.vendor, value }
  }

  #readText(state: CandidateState, text: string, signature: Signature | undefined, emit: Emit): void {
    let open = state.open
    // A signature ends its block: it must come back on a part that holds this text and no more.
    if (open?.type !== 'text' || open.signature !== undefined) {
      this.#turn(state, emit)
      const partIndex = state.parts
      const block = this.#begin(state)
      open = { type: 'text', block, partIndex, text: '', cited: undefined, signature: undefined, held: '' }
      state.open = open
      state.texts.push(open)
      emit({ type: 'text-start', block: open.block, candidate: state.index })
    }
    open.text += text
    open.signature = signature
    this.#text = open
    const whole = joinPairs(open, text)
    if (whole !== '') emit({ type: 'text-delta', block: open.block, text: whole })
  }

  #readThought(state: CandidateState, text: string, signature: Signature | undefined, emit: Emit): void {
    let open = state.open
    if (open?.type !== 'reasoning' || open.signature !== undefined) {
      this.#turn(state, emit)
      const block = this.#begin(state)
      open = { type: 'reasoning', block, signature: undefined, held: '' }
      state.open = open
      emit({
        type: 'reasoning-start',
        block,
        candidate: state.index,
        id: undefined,
        raw: false,
        redacted: false,
      })
      if (text !== '') emit({ type: 'reasoning-paragraph', block })
    }
    open.signature = signature
    this.#text = open
    const whole = joinPairs(open, text)
    if (whole !== '') emit({ type: 'reasoning-delta', block: open.block, text: whole })
  }

  /** A call, whole in one part, or begun by its name and continued by other parts (edge 74), with text between them or not. */
  #readCall(state: CandidateState, wire: JsonObject, signature: Signature | undefined, emit: Emit): void {
    const { id, name, args, hasInput } = readCallPart(wire)
    const continues = state.call !== undefined && (name === '' || (id !== '' && id === state.call.id))
    if (name !== '' && !continues) {
      const said = JSON.stringify([name, args])
      if (id !== '' && hasInput && state.said.get(id) === said) return
      this.#startCall(state, state.said.has(id) ? '' : id, name, emit)
      if (id !== '') state.said.set(id, said)
    }
    const { call } = state
    if (call === undefined) {
      state.hasLostCall ||= hasInput
      return
    }
    call.signature ??= signature
    call.args.merge(args ?? {})
    call.args.push(wire['partialArgs'])
    call.willContinue = wire['willContinue'] === true
    const isBegun = name !== '' && !hasInput
    if (!call.willContinue && !isBegun) this.#closeCall(state, emit)
  }

  #startCall(state: CandidateState, id: string, name: string, emit: Emit): void {
    this.#close(state, emit)
    const block = this.#begin(state)
    const callId = id === '' ? this.#context.newId() : id
    state.call = { block, id: callId, args: new PartialArgs(), signature: undefined, willContinue: false }
    state.called = true
    const at = { block, candidate: state.index }
    emit({ type: 'tool-input-start', ...at, kind: 'function', callId, name, namespace: undefined })
  }

  /** Something other than a call begins. */
  #turn(state: CandidateState, emit: Emit): void {
    this.#closeText(state, emit)
    if (state.call?.willContinue === false) this.#closeCall(state, emit)
  }

  #close(state: CandidateState, emit: Emit): void {
    this.#closeText(state, emit)
    this.#closeCall(state, emit)
  }

  #closeText(state: CandidateState, emit: Emit): void {
    const { open } = state
    state.open = undefined
    switch (open?.type) {
      case undefined:
        return
      case 'text':
        if (open.held !== '') emit({ type: 'text-delta', block: open.block, text: open.held })
        return emit({ type: 'text-end', block: open.block, signature: open.signature })
      case 'reasoning':
        if (open.held !== '') emit({ type: 'reasoning-delta', block: open.block, text: open.held })
        return emit({ type: 'reasoning-end', block: open.block, signature: open.signature })
      default:
        return open satisfies undefined
    }
  }

  #closeCall(state: CandidateState, emit: Emit): void {
    const { call } = state
    if (call === undefined) return
    state.call = undefined
    emit({ type: 'tool-input-delta', block: call.block, text: call.args.text() })
    emit({ type: 'tool-input-end', block: call.block, signature: call.signature })
  }

  #readFinish(state: CandidateState, candidate: JsonObject, emit: Emit): void {
    this.#cite(state, candidate, emit)
    // Of reasons with nothing between them the first counts.
    if (state.finished) return
    const reason = decodeFinishReason(candidate['finishReason'])
    if (reason === undefined) {
      const isLast = isVague(candidate['finishReason'])
      state.vague = { times: state.vague.times + (isLast ? 1 : 0), isLast }
      return
    }
    this.#finish(state, reason, asString(candidate['finishMessage']), emit)
  }

  #cite(state: CandidateState, candidate: JsonObject, emit: Emit): void {
    const isWhole = state.finished || decodeFinishReason(candidate['finishReason']) !== undefined
    for (const { of, citation } of decodeCitations(candidate, state.texts, isWhole)) {
      // Some chunks repeat the sources of those before.
      const { url, title, start, end } = citation
      const key = JSON.stringify([url, title, start, end])
      of.cited ??= new Set()
      if (of.cited.has(key)) continue
      of.cited.add(key)
      emit({ type: 'text-citation', block: of.block, citation })
    }
  }

  #readPromptFeedback(feedback: JsonObject | undefined, emit: Emit): void {
    const reason = decodeBlockReason(feedback?.['blockReason'])
    if (reason === undefined) return
    const state = this.#stateOf(0)
    if (state.finished) return
    const text = asString(feedback?.['blockReasonMessage'])
    this.#finish(state, 'prompt-blocked', text === undefined ? reason : `${reason}: ${text}`, emit)
  }

  #finish(state: CandidateState, reason: StopReason, message: string | undefined, emit: Emit): void {
    this.#close(state, emit)
    state.end = { reason, message }
    state.finished = true
    const of = reason === 'end' ? naturalEnd(state) : reason
    emit({ type: 'finish', candidate: state.index, finish: { reason: of, stopSequence: undefined, message } })
  }

  #fail(emit: Emit, error: GatewayError): void {
    this.#failed = true
    emit({ type: 'error', error })
  }
}

/** What a part says of a call; its input is an object, the text of one, or pieces of one. */
function readCallPart(wire: JsonObject) {
  const args = asObject(wire['args']) ?? parseExactObject(asString(wire['args']) ?? '')
  return {
    id: asString(wire['id']) ?? '',
    name: asString(wire['name']) ?? '',
    args,
    hasInput: args !== undefined || asArray(wire['partialArgs']).length > 0,
  }
}

function naturalEnd({ called, hasLostCall }: CandidateState): StopReason {
  if (called) return 'tool-calls'
  return hasLostCall ? 'malformed-tool-call' : 'end'
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
