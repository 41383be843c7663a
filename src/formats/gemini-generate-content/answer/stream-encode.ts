import { BlockQueue } from '@/formats/block-queue.ts'
import type { ReplyContext } from '@/formats/codec.ts'
import {
  FORMAT,
  type WireCandidate,
  type WireContent,
  type WireResponse,
} from '@/formats/gemini-generate-content/wire.ts'
import { onePiece } from '@/formats/one-piece.ts'
import type { PlainWriter, StreamEncoder } from '@/formats/plain/plain-text.ts'
import { QueuedEncoder } from '@/formats/queued-encoder.ts'
import type { EmitText, EventOf, GenerationEvent } from '@/generation/event.ts'
import { type Citation, type ReasoningPart, reasoningPart, type Signature } from '@/generation/part.ts'
import type { Finish } from '@/generation/response.ts'
import type { Usage } from '@/generation/usage.ts'
import { parseExactObject } from '@/json/exact.ts'
import { isJsonObject, type JsonObject, type JsonValue, present } from '@/json/json.ts'
import { encodeErrorEvent } from './error.ts'
import { encodeBlockReason, encodeFinishReason } from './finish.ts'
import { type CitedText, encodeGrounding } from './grounding.ts'
import { encodeLogprobs } from './logprobs.ts'
import {
  callPart,
  callSignature,
  carriedSignature,
  encodeAnswerMedia,
  showsThoughts,
  signatureValue,
  travelsOnCall,
} from './reply-parts.ts'
import { encodeUsage } from './usage.ts'

/** Text that may still grow, by its last character (see `#write`). */
interface HeldText {
  text: string
  thought: boolean
  signature: string | undefined
  /** Hidden thoughts came behind it: what follows them is another text, and their signature is not its own. */
  isOver: boolean
}

interface CandidateState {
  index: number
  /** What is written with the next chunk: the end of a text, or a whole part as JSON. */
  held: HeldText | string | undefined
  saidAnything: boolean
  refusedInWords: boolean
  malformed: boolean
  /** The signature of thoughts that the next part carries. */
  pending: Signature | undefined
  /** Thoughts that the next call carries. */
  thoughts: ReasoningPart[]
  finish: Finish | undefined
  logprobs: JsonValue[]
  cited: CitedText[]
  parts: number
}

/** A block of the answer and what is known of it until it ends. */
type Block =
  | { type: 'text'; of: CandidateState; text: string; citations: Citation[]; partIndex: number | undefined }
  | {
      type: 'reasoning'
      of: CandidateState
      start: EventOf<'reasoning-start'>
      texts: string[]
      hasText: boolean
    }
  | { type: 'call'; of: CandidateState; start: EventOf<'tool-input-start'>; input: string }

/**
 * Writes a stream as Google does: chunks whose parts are increments, calls whole, reason and usage in the last one.
 * The SDK's chat drops the whole turn from its history when any chunk has no part or (1.x) an empty one. So the last
 * chunk must hold something: of every text its last character, and every other part, waits for what comes next.
 * That also keeps surrogate pairs together and gives a text's signature a part to stand on.
 * Calls stand in the order in which they began, whichever of them is whole first.
 */
export function createStreamEncoder(context: ReplyContext): StreamEncoder {
  return new QueuedEncoder(new BlockQueue(QUEUED), new ChunkEncoder(context))
}

const QUEUED = new Set(['tool-input-start'] as const)

class ChunkEncoder implements StreamEncoder {
  readonly #context: ReplyContext
  readonly #shows: boolean
  /** The end of every chunk. */
  readonly #tail: string
  readonly #candidates = new Map<number, CandidateState>()
  readonly #blocks = new Map<number, Block>()
  /** Texts that have ended, for sources that are told later. */
  readonly #written = new Map<number, CitedText>()
  #usage: Usage | undefined
  #serviceTier: string | undefined
  #failed = false

  constructor(context: ReplyContext) {
    this.#context = context
    this.#shows = showsThoughts(context)
    this.#tail = onePiece(
      `,"modelVersion":${JSON.stringify(context.model)},"responseId":${JSON.stringify(context.requestId)}}\r\n\r\n`,
    )
  }

  push(event: GenerationEvent, emit: EmitText): void {
    switch (event.type) {
      case 'start':
        this.#serviceTier = event.serviceTier
        return
      case 'text-delta':
      case 'refusal-delta': {
        const block = this.#blocks.get(event.block)
        if (block?.type !== 'text') return
        if (event.text !== '') block.partIndex ??= block.of.parts++
        block.text += event.text
        return this.#write(block.of, event.text, false, emit)
      }
      case 'text-start':
      case 'refusal-start': {
        const of = this.#stateOf(event.candidate)
        of.refusedInWords ||= event.type === 'refusal-start'
        this.#blocks.set(event.block, { type: 'text', of, text: '', citations: [], partIndex: undefined })
        return
      }
      case 'text-citation': {
        const block = this.#blocks.get(event.block) ?? this.#written.get(event.block)
        if (block !== undefined && 'citations' in block) block.citations.push(event.citation)
        return
      }
      case 'text-end':
        return this.#endText(event.block, event.signature, emit)
      case 'refusal-end':
        return this.#endText(event.block, undefined, emit)
      case 'reasoning-start': {
        const of = this.#stateOf(event.candidate)
        this.#blocks.set(event.block, { type: 'reasoning', of, start: event, texts: [], hasText: false })
        return
      }
      case 'reasoning-paragraph': {
        const block = this.#blocks.get(event.block)
        if (block?.type === 'reasoning') block.texts.push('')
        return
      }
      case 'reasoning-delta':
        return this.#think(event.block, event.text, emit)
      case 'reasoning-end':
        return this.#endReasoning(event.block, event.signature)
      case 'tool-input-start': {
        const of = this.#stateOf(event.candidate)
        this.#blocks.set(event.block, { type: 'call', of, start: event, input: '' })
        return
      }
      case 'tool-input-delta': {
        const block = this.#blocks.get(event.block)
        if (block?.type === 'call') block.input += event.text
        return
      }
      case 'tool-input-end':
        return this.#endCall(event.block, event.signature, emit)
      case 'media': {
        const part = encodeAnswerMedia(event.media)
        return part === undefined ? undefined : this.#hold(this.#stateOf(event.candidate), part, emit)
      }
      case 'opaque': {
        const { format, value } = event.part
        if (format === FORMAT && isJsonObject(value)) this.#hold(this.#stateOf(event.candidate), value, emit)
        return
      }
      case 'logprobs':
        this.#stateOf(event.candidate).logprobs.push(...event.content)
        return
      case 'usage':
        this.#usage = event.usage
        return
      case 'finish':
        this.#stateOf(event.candidate).finish = event.finish
        return
      case 'withheld':
        return
      case 'error':
        return this.#fail(event, emit)
      default:
        event satisfies never
    }
  }

  /** Writes what is held together with each delta but its last character, as `#write` does. */
  plainText(block: number): PlainWriter | undefined {
    const open = this.#blocks.get(block)
    if (open === undefined || open.type === 'call') return undefined
    const thought = open.type === 'reasoning'
    const { index, pending } = open.of
    const held = growing(open.of, thought)
    if (held?.text.isWellFormed() !== true || (!thought && pending !== undefined)) return undefined
    return {
      before: `data: {"candidates":[{"content":{"parts":[{"text":"`,
      numbered: undefined,
      after: `"${thought ? ',"thought":true' : ''}}],"role":"model"},"index":${index}}]${this.#tail}`,
      get held() {
        return JSON.stringify(held.text).slice(1, -1)
      },
      note: {
        of: 'text',
        add: text => {
          if (open.type === 'text') open.text += text
          else open.texts.push((open.texts.pop() ?? '') + text)
          held.text = text.slice(-lastCharacterLength(text))
        },
      },
    }
  }

  /** The last chunk waits for the end, because some upstreams tell the usage after the reason. */
  end(emit: EmitText): void {
    const finished = [...this.#candidates.values()].filter(state => state.finish !== undefined)
    if (this.#failed || finished.length === 0) return
    const blocked = finished.find(state => state.finish?.reason === 'prompt-blocked' && !state.saidAnything)
    const reply: WireResponse = {
      candidates: blocked === undefined ? finished.map(state => this.#lastOf(state)) : undefined,
      promptFeedback:
        blocked === undefined ? undefined : { blockReason: encodeBlockReason(blocked.finish?.message) },
      usageMetadata: this.#usageMetadata(),
    }
    this.#emitReply(reply, emit)
  }

  #emitReply(reply: WireResponse, emit: EmitText): void {
    emit(`data: ${JSON.stringify(reply).slice(0, -1)}${this.#tail}`)
  }

  #usageMetadata(): JsonObject | undefined {
    return this.#usage === undefined ? undefined : encodeUsage(this.#usage, this.#serviceTier)
  }

  #stateOf(index: number): CandidateState {
    const known = this.#candidates.get(index)
    if (known !== undefined) return known
    const state: CandidateState = {
      index,
      held: undefined,
      saidAnything: false,
      refusedInWords: false,
      malformed: false,
      pending: undefined,
      thoughts: [],
      finish: undefined,
      logprobs: [],
      cited: [],
      parts: 0,
    }
    this.#candidates.set(index, state)
    return state
  }

  /** Writes all of the text but its last character, which waits. */
  #write(of: CandidateState, text: string, thought: boolean, emit: EmitText): void {
    if (text === '') return
    const held = growing(of, thought)
    if (held === undefined) this.#flush(of, emit)
    const whole = held === undefined ? text : held.text + text
    const cut = whole.length - lastCharacterLength(whole)
    of.saidAnything = true
    if (held !== undefined) held.text = cut === 0 ? whole : whole.slice(cut)
    else of.held = { text: whole.slice(cut), thought, signature: undefined, isOver: false }
    if (cut > 0) this.#writeText(of, whole.slice(0, cut), thought, emit)
  }

  #writeText(of: CandidateState, text: string, thought: boolean, emit: EmitText): void {
    const { pending } = of
    if (thought || pending !== undefined) {
      if (!thought) of.pending = undefined
      const thoughtSignature = thought ? undefined : signatureValue(pending)
      return this.#emitPart(of, textJson(text, thought, thoughtSignature), emit)
    }
    // The hot path: one chunk per delta, its only variable part encoded.
    emit(
      `data: {"candidates":[{"content":{"parts":[{"text":${JSON.stringify(text)}}],"role":"model"},"index":${of.index}}]${this.#tail}`,
    )
  }

  #emitPart(of: CandidateState, part: string, emit: EmitText): void {
    emit(
      `data: {"candidates":[{"content":{"parts":[${part}],"role":"model"},"index":${of.index}}]${this.#tail}`,
    )
  }

  #hold(of: CandidateState, part: JsonObject, emit: EmitText): void {
    this.#flush(of, emit)
    of.held = JSON.stringify(part)
    of.saidAnything = true
    of.parts += 1
  }

  #flush(of: CandidateState, emit: EmitText): void {
    const part = this.#takeHeld(of)
    if (part !== undefined) this.#emitPart(of, part, emit)
  }

  #takeHeld(of: CandidateState): string | undefined {
    const { held } = of
    of.held = undefined
    if (typeof held !== 'object') return held
    if (held.thought || held.isOver) return textJson(held.text, held.thought, held.signature)
    const signature = held.signature ?? signatureValue(of.pending)
    of.pending = undefined
    return textJson(held.text, held.thought, signature)
  }

  #endText(index: number, signature: Signature | undefined, emit: EmitText): void {
    const block = this.#blocks.get(index)
    this.#blocks.delete(index)
    if (block?.type !== 'text') return
    const { of, text, citations, partIndex } = block
    if (partIndex !== undefined) {
      const written = { partIndex, text, citations }
      this.#written.set(index, written)
      of.cited.push(written)
    }
    const value = signatureValue(signature)
    if (value === undefined) return
    if (text !== '' && typeof of.held === 'object' && !of.held.thought) of.held.signature = value
    // A signature without text of its own came on an empty part; it goes back on one.
    else this.#hold(of, { text: '', thoughtSignature: value }, emit)
  }

  #think(index: number, text: string, emit: EmitText): void {
    const block = this.#blocks.get(index)
    if (block?.type !== 'reasoning' || text === '') return
    const last = block.texts.pop() ?? ''
    const separator = last === '' && block.hasText ? '\n\n' : ''
    block.texts.push(last + text)
    if (this.#shows && !block.hasText) block.of.parts += 1
    block.hasText = true
    if (this.#shows) this.#write(block.of, separator + text, true, emit)
  }

  #endReasoning(index: number, signature: Signature | undefined): void {
    const block = this.#blocks.get(index)
    this.#blocks.delete(index)
    if (block?.type !== 'reasoning') return
    const thoughts = block.hasText ? (this.#shows ? 'shown' : 'hidden') : 'none'
    const { redacted, raw } = block.start
    const texts = block.texts.filter(text => text !== '')
    const thought = reasoningPart({ texts, raw, redacted, signature })
    if (travelsOnCall(thought)) block.of.thoughts.push(thought)
    const carried = carriedSignature(thought, thoughts)
    const { held } = block.of
    if (thoughts === 'shown') {
      // As in a whole answer: between a signature and its part stands nothing that is signed itself.
      block.of.pending = undefined
      if (typeof held === 'object' && held.thought) held.signature = signatureValue(carried)
      return
    }
    // What thoughts before this text left to it is its own, though none of it is written.
    if (typeof held === 'object' && !held.thought && !held.isOver)
      held.signature ??= signatureValue(block.of.pending)
    block.of.pending = carried
    if (carried !== undefined && typeof held === 'object') held.isOver = true
  }

  #endCall(index: number, signature: Signature | undefined, emit: EmitText): void {
    const block = this.#blocks.get(index)
    this.#blocks.delete(index)
    if (block?.type !== 'call') return
    const { of, start, input } = block
    const part = callPart(start, input, callSignature(signature ?? of.pending, of.thoughts))
    of.thoughts = []
    if (part === undefined) {
      of.malformed = true
      return
    }
    of.pending = undefined
    this.#hold(of, part, emit)
  }

  #lastOf(state: CandidateState): WireCandidate {
    const part = this.#takeHeld(state)
    const reason = state.finish?.reason ?? 'other'
    const bad = state.malformed && reason !== 'length'
    return present({
      content: part === undefined ? undefined : contentOf(part),
      finishReason: encodeFinishReason(bad ? 'malformed-tool-call' : reason, state.refusedInWords),
      index: state.index,
      finishMessage: state.finish?.message,
      groundingMetadata: encodeGrounding(state.cited),
      logprobsResult: encodeLogprobs(state.logprobs),
    })
  }

  #fail({ error }: EventOf<'error'>, emit: EmitText): void {
    if (this.#failed) return
    this.#failed = true
    const held = [...this.#candidates.values()].flatMap(state => {
      const part = this.#takeHeld(state)
      return part === undefined ? [] : { content: contentOf(part), index: state.index }
    })
    if (held.length > 0) this.#emitReply({ candidates: held, usageMetadata: this.#usageMetadata() }, emit)
    emit(encodeErrorEvent(error, this.#context.requestId))
  }
}

/** The text that more of the same kind is added to; undefined: what is held is another part. */
function growing({ held }: CandidateState, thought: boolean): HeldText | undefined {
  const grows =
    typeof held === 'object' && held.thought === thought && held.signature === undefined && !held.isOver
  return grows ? held : undefined
}

/** A held part as content; parsed so that JSON.stringify writes it, with every digit of its numbers. */
function contentOf(part: string): WireContent {
  return { parts: [parseExactObject(part) ?? {}], role: 'model' }
}

function textJson(text: string, thought: boolean, thoughtSignature: string | undefined): string {
  return JSON.stringify({ text, thought: thought ? true : undefined, thoughtSignature })
}

function lastCharacterLength(text: string): 1 | 2 {
  const last = text.charCodeAt(text.length - 1)
  const before = text.charCodeAt(text.length - 2)
  return last >= 0xdc00 && last <= 0xdfff && before >= 0xd800 && before <= 0xdbff ? 2 : 1
}
