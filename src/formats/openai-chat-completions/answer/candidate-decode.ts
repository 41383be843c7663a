import type { AnswerScope } from '@/formats/codec.ts'
import { AudioDeltas } from '@/formats/openai/audio-deltas.ts'
import { imagePart } from '@/formats/openai-chat-completions/content-decode.ts'
import { hostedCallType, legacyCallIn } from '@/formats/openai-chat-completions/empty.ts'
import { ReasoningDetails, thinkingText } from '@/formats/openai-chat-completions/reasoning-details.ts'
import { thoughtSignature } from '@/formats/openai-chat-completions/thought-signature.ts'
import { FORMAT } from '@/formats/openai-chat-completions/wire.ts'
import { joinPairs } from '@/formats/surrogates.ts'
import type { Emit } from '@/generation/event.ts'
import type { Citation, MediaPart, OpaquePart, Signature } from '@/generation/part.ts'
import { asArray, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { CallsReader } from './calls-reader.ts'
import { decodeAnnotation, decodeSource } from './citations.ts'
import { decodeFinish } from './finish.ts'

/**
 * Reads the deltas of one choice. Text, refusal and reasoning follow one another, so one of them is open at a time;
 * tool calls stay open until the finish, since their deltas may interleave.
 */
export class CandidateDecoder {
  readonly index: number
  readonly #scope: AnswerScope
  readonly #calls: CallsReader
  readonly #details = new ReasoningDetails()
  #open: 'text' | 'refusal' | 'reasoning' | undefined
  #block = 0
  /** The last text that began. */
  #text: number | undefined
  /** The first half of a surrogate pair at the end of the last delta. */
  readonly #half = { held: '' }
  /** Whether the open reasoning has text already, and so its paragraph. */
  #hasParagraph = false
  /** Reasoning came as plain text; then the text in `reasoning_details` is the same once more. */
  #hasPlainReasoning = false
  #hasRefused = false
  /** Sources that came while no text was open: those of the next. */
  #early: readonly Citation[] = []
  #textSignature: Signature | undefined
  /** The fields without a word elsewhere that were told. */
  #strange: readonly string[] = []
  readonly #sound = new AudioDeltas()
  #finish: JsonObject | undefined

  constructor(index: number, scope: AnswerScope) {
    this.index = index
    this.#scope = scope
    this.#calls = new CallsReader({
      ...scope,
      candidate: index,
      openBlock: emit => {
        this.#close(emit)
        return scope.nextBlock()
      },
    })
  }

  get isFinished(): boolean {
    return this.#finish !== undefined
  }

  get hasCalls(): boolean {
    return this.#calls.any
  }

  /** True when nothing said why it ended and the input of a call is not whole, or thought was its last word. */
  get isCut(): boolean {
    return !this.isFinished && (this.#calls.isCut || this.#open === 'reasoning')
  }

  /** See CallsReader. */
  breakOff(emit: Emit): void {
    this.#calls.breakOff(emit)
  }

  /** True when the next text of this kind continues the open block as it comes. */
  isIn(kind: 'text' | 'reasoning'): boolean {
    return this.#open === kind && this.#half.held === ''
  }

  /** True when the next input like this continues the open call as it comes. */
  isInCall(entries: readonly JsonValue[]): boolean {
    const entry = asObject(entries[0])
    return entries.length === 1 && entry !== undefined && this.#calls.isPlain(entry)
  }

  /** Takes note of input of that call that came past `push`. */
  skipInput(input: string): void {
    this.#calls.skip(input)
  }

  push(delta: JsonObject, emit: Emit): void {
    const thought =
      asString(delta['reasoning_content']) ||
      asString(delta['reasoning']) ||
      asString(delta['reasoning_text'])
    if (thought !== undefined && thought !== '') {
      this.#hasPlainReasoning = true
      this.#write('reasoning', thought, emit)
    }
    if (delta['reasoning_details'] !== undefined) this.#pushDetails(asArray(delta['reasoning_details']), emit)
    if (delta['thinking_blocks'] !== undefined) this.#pushDetails(asArray(delta['thinking_blocks']), emit)
    const content = delta['content']
    if (typeof content === 'string') {
      if (content !== '') this.#write('text', content, emit)
    } else if (Array.isArray(content)) this.#pushParts(content, emit)
    const refusal = asString(delta['refusal'])
    if (refusal !== undefined && refusal !== '') this.#write('refusal', refusal, emit)
    if (delta['extra_content'] !== undefined) this.#pushTextSignature(delta, emit)
    if (delta['annotations'] !== undefined) this.#pushAnnotations(asArray(delta['annotations']), emit)
    if (delta['images'] !== undefined) this.#pushImages(asArray(delta['images']), emit)
    if (delta['audio'] !== undefined) this.#sound.push(asObject(delta['audio']), emit)
    if (delta['tool_calls'] !== undefined) this.#pushCalls(asArray(delta['tool_calls']), emit)
    const legacy = legacyCallIn(delta)
    if (legacy !== undefined) this.#calls.push({ function: legacy }, LEGACY_POSITION, emit)
    this.#pushOthers(delta, emit)
  }

  /** What a vendor says in a field of its own has no words elsewhere, but a name. It is told once. */
  strange(name: string, value: JsonValue | undefined, emit: Emit): void {
    if (value === undefined || !hasWords(value) || this.#strange.includes(name)) return
    this.#strange = [...this.#strange, name]
    this.#pushOpaque(name, value, emit)
  }

  /** Sources of the text that is open, else of the next, when it ends: one without a place belongs to all of it. */
  cite(citations: readonly Citation[], emit: Emit): void {
    if (this.#open !== 'text') {
      if (citations.length > 0) this.#early = [...this.#early, ...citations]
      return
    }
    for (const citation of citations) emit({ type: 'text-citation', block: this.#block, citation })
  }

  /**
   * The choice says why it ended. The first reason counts; the event waits, as more deltas may come, and so does the
   * end of a text, whose sources some vendors tell last.
   */
  finish(choice: JsonObject, emit: Emit): void {
    this.#finish ??= choice
    if (this.#open === 'text') this.#calls.end(emit)
    else this.#endBlocks(emit)
  }

  /** The answer is over. @param sources those of all of it, which stand beside its choices */
  end(sources: readonly Citation[], emit: Emit): void {
    this.cite(sources, emit)
    // Sources that came when the text had ended are that text's; without any they have a place among the answer's.
    if (this.#text === undefined && this.#early.length > 0) this.#begin('text', emit)
    this.#citeEarly(this.#text ?? 0, emit)
    this.#endBlocks(emit)
    const finish = decodeFinish(this.#finish, { calls: this.#calls.any, refused: this.#hasRefused })
    emit({ type: 'finish', candidate: this.index, finish })
  }

  #citeEarly(block: number, emit: Emit): void {
    for (const citation of this.#early) emit({ type: 'text-citation', block, citation })
    this.#early = []
  }

  #endBlocks(emit: Emit): void {
    const sound = this.#sound.take(emit)
    if (typeof sound === 'string') this.#write('text', sound, emit)
    this.#close(emit)
    if (typeof sound === 'object') this.#emitMedia(sound, emit)
    this.#calls.end(emit)
  }

  #pushOthers(delta: JsonObject, emit: Emit): void {
    for (const name in delta) {
      if (READ.has(name)) continue
      const value = asObject(delta[name])
      if (name === 'context' && value !== undefined) this.#pushContext(value, emit)
      // LiteLLM's own, which repeats some of the others.
      else if (name === 'provider_specific_fields' && value !== undefined) this.#pushOthers(value, emit)
      else this.strange(name, delta[name], emit)
    }
  }

  /** Azure's, of an answer that rests on the operator's documents. */
  #pushContext({ citations, ...others }: JsonObject, emit: Emit): void {
    this.cite(
      asArray(citations).flatMap(source => decodeSource(source) ?? []),
      emit,
    )
    this.strange('context', others, emit)
  }

  #pushParts(parts: readonly JsonValue[], emit: Emit): void {
    for (const value of parts) {
      const part = asObject(value)
      if (part === undefined) continue
      const text = asString(part['text'])
      if (part['type'] === 'thinking' || part['type'] === 'reasoning') {
        this.#write('reasoning', thinkingText(part), emit)
      } else if (part['type'] === 'image_url') this.#pushImages([part], emit)
      else if (part['type'] === 'refusal') this.#write('refusal', asString(part['refusal']) ?? '', emit)
      else if (text !== undefined || part['type'] === 'text') this.#write('text', text ?? '', emit)
      else this.#pushOpaque(asString(part['type']) ?? 'content', part, emit)
    }
  }

  #pushAnnotations(annotations: readonly JsonValue[], emit: Emit): void {
    const citations = annotations.flatMap(annotation => decodeAnnotation(annotation) ?? [])
    this.cite(citations, emit)
    if (citations.length === annotations.length) return
    for (const annotation of annotations) {
      const name = asString(asObject(annotation)?.['type']) ?? 'annotations'
      if (decodeAnnotation(annotation) === undefined) this.#pushOpaque(name, annotation, emit)
    }
  }

  /** What only a vendor of this format has (Mistral's references, OpenRouter's files). It ends no text. */
  #pushOpaque(name: string, value: JsonValue, emit: Emit): void {
    const part: OpaquePart = { type: 'opaque', format: FORMAT, name, value }
    emit({ type: 'opaque', block: this.#scope.nextBlock(), candidate: this.index, part })
  }

  #pushDetails(entries: readonly JsonValue[], emit: Emit): void {
    if (entries.length === 0) return
    if (this.#open !== 'reasoning') this.#begin('reasoning', emit)
    const text = this.#details.push(entries)
    if (text !== '' && !this.#hasPlainReasoning) this.#write('reasoning', text, emit)
  }

  #pushTextSignature(delta: JsonObject, emit: Emit): void {
    const signature = thoughtSignature(delta, this.#scope.vendor)
    if (signature === undefined) return
    if (this.#open !== 'text') this.#begin('text', emit)
    this.#textSignature = signature
  }

  #pushImages(images: readonly JsonValue[], emit: Emit): void {
    for (const value of images) {
      const image = imagePart(asObject(value))
      if (image !== undefined) this.#emitMedia(image, emit)
    }
  }

  #pushCalls(entries: readonly JsonValue[], emit: Emit): void {
    for (const [position, value] of entries.entries()) {
      const entry = asObject(value)
      if (entry === undefined) continue
      const hosted = hostedCallType(entry)
      if (hosted !== undefined) this.#pushOpaque(hosted, value, emit)
      else this.#calls.push(entry, entries.length > 1 ? position : undefined, emit)
    }
  }

  #emitMedia(media: MediaPart, emit: Emit): void {
    this.#close(emit)
    emit({ type: 'media', block: this.#scope.nextBlock(), candidate: this.index, media })
  }

  #write(kind: 'text' | 'refusal' | 'reasoning', piece: string, emit: Emit): void {
    if (piece === '') return
    if (this.#open !== kind) this.#begin(kind, emit)
    const text = joinPairs(this.#half, piece)
    if (text !== '') this.#emitDelta(kind, text, emit)
  }

  #emitDelta(kind: 'text' | 'refusal' | 'reasoning', text: string, emit: Emit): void {
    if (kind === 'text') emit({ type: 'text-delta', block: this.#block, text })
    else if (kind === 'refusal') emit({ type: 'refusal-delta', block: this.#block, text })
    else {
      if (!this.#hasParagraph) emit({ type: 'reasoning-paragraph', block: this.#block })
      this.#hasParagraph = true
      emit({ type: 'reasoning-delta', block: this.#block, text })
    }
  }

  #begin(kind: 'text' | 'refusal' | 'reasoning', emit: Emit): void {
    this.#close(emit)
    const block = this.#scope.nextBlock()
    const candidate = this.index
    this.#open = kind
    this.#block = block
    if (kind === 'text') {
      this.#text = block
      emit({ type: 'text-start', block, candidate })
    } else if (kind === 'refusal') {
      this.#hasRefused = true
      emit({ type: 'refusal-start', block, candidate })
    } else {
      this.#hasParagraph = false
      emit({ type: 'reasoning-start', block, candidate, id: undefined, raw: false, redacted: false })
    }
  }

  #close(emit: Emit): void {
    const kind = this.#open
    if (kind === undefined) return
    const block = this.#block
    if (this.#half.held !== '') this.#emitDelta(kind, this.#half.held, emit)
    this.#half.held = ''
    this.#open = undefined
    if (kind === 'refusal') emit({ type: 'refusal-end', block })
    else if (kind === 'text') {
      this.#citeEarly(block, emit)
      emit({ type: 'text-end', block, signature: this.#textSignature })
      this.#textSignature = undefined
    } else {
      const value = this.#details.take()
      const signature: Signature | undefined =
        value === undefined ? undefined : { format: FORMAT, vendor: this.#scope.vendor, value }
      emit({ type: 'reasoning-end', block, signature })
    }
  }
}

/** The fields of a delta that are read, or say how it is framed. */
const READ: ReadonlySet<string> = new Set([
  ...['role', 'content', 'refusal', 'reasoning', 'reasoning_content', 'reasoning_text'],
  ...['reasoning_details', 'thinking_blocks'],
  ...['tool_calls', 'function_call', 'annotations', 'audio', 'images', 'extra_content'],
  ...['id', 'name', 'type', 'channel'],
])

/** Whether a value says anything in words: numbers and marks are about the answer, and no part of it. */
function hasWords(value: JsonValue, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'string' && value !== ''
  if (depth > MAX_DEPTH) return true
  return Object.values(value).some(inner => inner !== undefined && hasWords(inner, depth + 1))
}

/** Deeper than what any vendor says of its own. */
const MAX_DEPTH = 8

/** Legacy answers hold one call, under a place that no index names. */
const LEGACY_POSITION = -1
