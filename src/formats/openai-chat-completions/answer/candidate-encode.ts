import type { ReplyContext } from '@/formats/codec.ts'
import { mediaWords } from '@/formats/media/media-words.ts'
import {
  audioEntry,
  hidesReasoning,
  imageEntry,
  isLegacyCaller,
  readsOpenrouter,
  reasoningEntry,
} from '@/formats/openai-chat-completions/reply.ts'
import { replySignatureField } from '@/formats/openai-chat-completions/thought-signature.ts'
import type { PlainWriter } from '@/formats/plain/plain-text.ts'
import { joinPairs } from '@/formats/surrogates.ts'
import type { EmitText, EventOf, GenerationEvent } from '@/generation/event.ts'
import type { MediaPart, Signature } from '@/generation/part.ts'
import type { Finish } from '@/generation/response.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'
import { CallsWriter } from './calls-writer.ts'
import type { Around, ChunkWriter } from './chunk-writer.ts'
import { encodeAnnotation } from './citations.ts'
import { encodeFinish } from './finish.ts'

/** A text of the answer on its way: one of content, refusal and reasoning. */
interface OpenText {
  /** Where it begins in the message's content, in UTF-16 units. */
  offset: number
  /** How much of it is written. */
  length: number
  /** The first half of a surrogate pair, waiting for the other. */
  held: string
}

/** A thought on its way, with its text so far in case a signature follows. */
interface OpenReasoning extends OpenText {
  start: EventOf<'reasoning-start'>
  text: string
  paragraphs: number
}

/** Writes the chunks of one choice. */
export class CandidateEncoder {
  readonly #index: number
  readonly #context: ReplyContext
  readonly #chunks: ChunkWriter
  /** What stands around the texts, made when the first of its kind comes: few answers have all of them. */
  #aroundContent: Around | undefined
  #aroundRefusal: Around | undefined
  #aroundReasoning: Around | undefined
  readonly #calls: CallsWriter
  readonly #texts: (OpenText | undefined)[] = []
  /** Texts that have ended, for sources that are told later. */
  readonly #written: (OpenText | undefined)[] = []
  readonly #thoughts: (OpenReasoning | undefined)[] = []
  readonly #isReasoningHidden: boolean
  readonly #readsOpenrouter: boolean
  #hasRole = false
  #hasRefused = false
  /** The message has one place for those of its texts, and SDKs join what comes there twice. */
  #textSignature: Signature | undefined
  /** Told all at once, at the end: of annotations that come twice OpenAI's SDKs keep the last ones or fail. */
  #annotations: JsonObject[] | undefined
  #contentLength = 0
  #reasoningLength = 0
  #signed = 0
  #images = 0
  #hasSound = false

  constructor(index: number, context: ReplyContext, chunks: ChunkWriter) {
    this.#index = index
    this.#context = context
    this.#chunks = chunks
    this.#isReasoningHidden = hidesReasoning(context)
    this.#readsOpenrouter = readsOpenrouter(context)
    this.#calls = new CallsWriter(index, chunks, isLegacyCaller(context))
  }

  get #content(): Around {
    this.#aroundContent ??= this.#chunks.around(this.#index, '{"content":', '}')
    return this.#aroundContent
  }

  get #refusal(): Around {
    this.#aroundRefusal ??= this.#chunks.around(this.#index, '{"refusal":', '}')
    return this.#aroundRefusal
  }

  get #reasoning(): Around {
    this.#aroundReasoning ??= this.#chunks.around(this.#index, '{"reasoning_content":', '}')
    return this.#aroundReasoning
  }

  push(
    event: Exclude<
      GenerationEvent,
      EventOf<'start' | 'usage' | 'error' | 'finish' | 'logprobs' | 'opaque' | 'withheld'>
    >,
    emit: EmitText,
  ): void {
    switch (event.type) {
      case 'text-delta':
        return this.#writeText(event, emit)
      case 'text-start':
      case 'refusal-start':
        this.#role('', emit)
        this.#hasRefused ||= event.type === 'refusal-start'
        this.#texts[event.block] = { offset: this.#contentLength, length: 0, held: '' }
        return
      case 'text-citation':
        return this.#cite(event)
      case 'text-end':
        this.#flush(this.#texts[event.block], this.#content, emit)
        this.#written[event.block] = this.#texts[event.block]
        this.#texts[event.block] = undefined
        this.#textSignature = event.signature ?? this.#textSignature
        return
      case 'refusal-delta':
        return this.#write(this.#texts[event.block], event.text, this.#refusal, emit)
      case 'refusal-end':
        return this.#flush(this.#texts[event.block], this.#refusal, emit)
      case 'reasoning-start':
        this.#thoughts[event.block] = {
          offset: 0,
          length: 0,
          held: '',
          start: event,
          text: '',
          paragraphs: 0,
        }
        return
      case 'reasoning-paragraph':
        return this.#paragraph(event.block, emit)
      case 'reasoning-delta':
        return this.#think(this.#thoughts[event.block], event.text, emit)
      case 'reasoning-end':
        return this.#sign(event, emit)
      case 'tool-input-start':
        this.#role(null, emit)
        return this.#calls.start(event, emit)
      case 'tool-input-delta':
        return this.#calls.delta(event, emit)
      case 'tool-input-end':
        return this.#calls.end(event, emit)
      case 'media':
        return this.#show(event.media, emit)
      default:
        event satisfies never
    }
  }

  /** See StreamEncoder. */
  plainText(block: number): PlainWriter | undefined {
    if (this.#thoughts[block] !== undefined) return this.#plainThought(this.#thoughts[block])
    const open = this.#texts[block]
    if (open === undefined) return this.#calls.plainText(block)
    if (open.held !== '') return undefined
    return {
      before: `${this.#content.before}"`,
      numbered: undefined,
      after: `"${this.#content.after}`,
      held: undefined,
      note: {
        of: 'length',
        add: length => {
          this.#contentLength += length
          open.length += length
        },
      },
    }
  }

  #plainThought(open: OpenReasoning): PlainWriter | undefined {
    // The first words may stand behind those of another thought.
    if (open.held !== '' || open.text === '' || this.#isReasoningHidden) return undefined
    if (this.#readsOpenrouter) return undefined
    return {
      before: `${this.#reasoning.before}"`,
      numbered: undefined,
      after: `"${this.#reasoning.after}`,
      held: undefined,
      note: {
        of: 'text',
        add: text => {
          open.text += text
          open.length += text.length
          this.#reasoningLength += text.length
        },
      },
    }
  }

  logprobs(content: readonly JsonValue[], emit: EmitText): void {
    this.#role('', emit)
    emit(this.#chunks.logprobs(this.#index, content))
  }

  /** Says that there is such a choice, before anything of it came. */
  begin(emit: EmitText): void {
    this.#role('', emit)
  }

  finish(finish: Finish, emit: EmitText): void {
    this.#role('', emit)
    this.#calls.finish(emit)
    // The vendor's words where the model said none itself.
    if (finish.reason === 'refusal' && finish.message !== undefined && !this.#hasRefused) {
      this.#delta({ refusal: finish.message }, emit)
    }
    if (this.#annotations !== undefined) this.#delta({ annotations: this.#annotations }, emit)
    if (this.#textSignature !== undefined) this.#delta(replySignatureField(this.#textSignature), emit)
    const facts = { calls: this.#calls.any, usable: this.#calls.usable, refused: this.#hasRefused }
    emit(this.#chunks.last(this.#index, encodeFinish(finish.reason, facts, this.#calls.isLegacy)))
  }

  /** The first chunk names the role; its content is "" before text and null before a call. */
  #role(content: '' | null, emit: EmitText): void {
    this.#calls.flush(emit)
    if (this.#hasRole) return
    this.#hasRole = true
    this.#delta({ role: 'assistant', content, refusal: null }, emit)
  }

  #delta(delta: JsonObject, emit: EmitText): void {
    emit(this.#chunks.delta(this.#index, delta))
  }

  #writeText(event: EventOf<'text-delta'>, emit: EmitText): void {
    this.#contentLength += event.text.length
    this.#write(this.#texts[event.block], event.text, this.#content, emit)
  }

  #write(open: OpenText | undefined, delta: string, around: Around, emit: EmitText): void {
    if (open === undefined) return
    open.length += delta.length
    const text = joinPairs(open, delta)
    if (text !== '') emit(`${around.before}${JSON.stringify(text)}${around.after}`)
  }

  #flush(open: OpenText | undefined, around: Around, emit: EmitText): void {
    if (open === undefined || open.held === '') return
    emit(`${around.before}${JSON.stringify(open.held)}${around.after}`)
    open.held = ''
  }

  #cite(event: EventOf<'text-citation'>): void {
    const open = this.#texts[event.block] ?? this.#written[event.block]
    if (open === undefined) return
    const annotation = encodeAnnotation(event.citation, open.offset, open.length)
    if (annotation === undefined) return
    this.#annotations ??= []
    this.#annotations.push(annotation)
  }

  #paragraph(block: number, emit: EmitText): void {
    const open = this.#thoughts[block]
    if (open === undefined) return
    open.paragraphs += 1
    if (open.paragraphs > 1) this.#think(open, '\n\n', emit)
  }

  #think(open: OpenReasoning | undefined, text: string, emit: EmitText): void {
    if (open === undefined) return
    const isNext = open.text === '' && this.#reasoningLength > 0
    open.text += text
    this.#reasoningLength += text.length
    if (this.#isReasoningHidden) return
    this.#role('', emit)
    // Between two thoughts, so not part of what either signature covers.
    if (isNext) this.#emitThought('\n\n', emit)
    open.length += text.length
    const whole = joinPairs(open, text)
    if (whole !== '') this.#emitThought(whole, emit)
  }

  #sign(event: EventOf<'reasoning-end'>, emit: EmitText): void {
    const open = this.#thoughts[event.block]
    if (open === undefined) return
    this.#thoughts[event.block] = undefined
    if (open.held !== '' && !this.#isReasoningHidden) this.#emitThought(open.held, emit)
    if (event.signature === undefined) return
    this.#role('', emit)
    // OpenRouter's readers show what comes in entries, and what came in `reasoning`.
    const text = this.#isReasoningHidden || this.#readsOpenrouter ? '' : open.text
    const reasoning = { id: open.start.id, redacted: open.start.redacted, text, signature: event.signature }
    this.#delta({ reasoning_details: [reasoningEntry(reasoning, this.#signed)] }, emit)
    this.#signed += 1
  }

  #emitThought(text: string, emit: EmitText): void {
    const { before, after } = this.#reasoning
    const json = JSON.stringify(text)
    emit(this.#readsOpenrouter ? `${before}${json},"reasoning":${json}${after}` : before + json + after)
  }

  #show(media: MediaPart, emit: EmitText): void {
    this.#role('', emit)
    const image = imageEntry(media, this.#images)
    // A message has one sound, and SDKs join what comes there twice.
    const audio = this.#hasSound ? undefined : audioEntry(media, this.#context)
    if (image !== undefined) {
      this.#images += 1
      this.#delta({ images: [image] }, emit)
    } else if (audio !== undefined) {
      this.#hasSound = true
      this.#delta({ audio }, emit)
    } else {
      const content = (this.#contentLength === 0 ? '' : '\n\n') + mediaWords(media)
      this.#contentLength += content.length
      this.#delta({ content }, emit)
    }
  }
}
