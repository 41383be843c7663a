import { encodeCitation } from '@/formats/anthropic-messages/citation.ts'
import {
  DIRECT_CALLER,
  NO_CITATIONS,
  replySignature,
  type ThoughtDisplay,
} from '@/formats/anthropic-messages/reply.ts'
import type { SearchBlocks } from '@/formats/anthropic-messages/search-blocks.ts'
import { FORMAT } from '@/formats/anthropic-messages/wire.ts'
import { mediaWords } from '@/formats/media/media-words.ts'
import { NO_NOTE, type PlainWriter } from '@/formats/plain/plain-text.ts'
import { fitCallId } from '@/formats/tools/call-ids.ts'
import { inputObject, wrappedInput } from '@/formats/tools/call-input.ts'
import type { BlockEvent, EmitText, EventOf } from '@/generation/event.ts'
import type { Signature, ToolCallKind } from '@/generation/part.ts'
import { isJsonObject, type JsonObject } from '@/json/json.ts'
import type { Written } from './finish.ts'

/**
 * The block being written. `shown`: its content_block_start is out. Text and thoughts wait for their first words (`held`
 * is the white space before a text's), a tool call for its second delta (`held` is the first): a call that comes whole
 * may end in a signature, whose block must stand before it.
 */
type Current =
  | { kind: 'text'; block: number; shown: boolean; held: string }
  | { kind: 'thinking'; block: number; shown: boolean; redacted: boolean; paragraphs: number }
  | {
      kind: 'tool'
      block: number
      shown: boolean
      tool: ToolCallKind
      start: string
      held: string
      isSigned: boolean
    }

/**
 * Writes content blocks one after the other, numbered from 0. Blocks that would be empty, or hold white space alone,
 * are left out, since the API does not take such a text back in the history.
 */
export class BlockWriter {
  /** What the answer holds so far. */
  readonly written: Written = { toolUse: false, refusal: false }
  readonly #showThoughts: boolean
  readonly #sealThoughts: boolean
  readonly #search: SearchBlocks
  #index = 0
  #current: Current | undefined
  /** The white space of a text that was left out, for the one that follows it. */
  #space = ''
  /** A thought has ended without a signature, and may yet get that of the call or image behind it. */
  #isUnsigned = false

  constructor(thoughts: ThoughtDisplay, search: SearchBlocks) {
    this.#search = search
    this.#showThoughts = thoughts === 'shown'
    this.#sealThoughts = thoughts !== 'hidden'
  }

  /** The number of the open block, as its events carry it. */
  get block(): number | undefined {
    return this.#current?.block
  }

  /** An event of the open block, or the first of a new one while none is open. */
  write(event: BlockEvent, emit: EmitText): void {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
        return this.#text(event.text, emit)
      case 'reasoning-delta':
        return this.#thought(event.text, emit)
      case 'tool-input-delta':
        return this.#input(event.text, emit)
      case 'text-start':
      case 'refusal-start':
        this.written.refusal ||= event.type === 'refusal-start'
        this.#current = { kind: 'text', block: event.block, shown: false, held: this.#takeSpace() }
        return
      case 'text-citation': {
        this.#search.cite(event.citation)
        const citation = encodeCitation(event.citation)
        if (citation === undefined || this.#current?.kind !== 'text') return
        this.#showText(this.#current, '', emit)
        return this.#delta({ type: 'citations_delta', citation }, emit)
      }
      case 'reasoning-start': {
        this.#takeSpace()
        const { block, redacted } = event
        this.#current = { kind: 'thinking', block, redacted, shown: false, paragraphs: 0 }
        return
      }
      case 'reasoning-paragraph':
        if (this.#current?.kind === 'thinking') this.#paragraph(this.#current, emit)
        return
      case 'tool-input-start':
        return this.#startTool(event, emit)
      case 'text-end':
      case 'refusal-end':
        return this.close(emit)
      case 'tool-input-end':
        return this.#endTool(event.signature, emit)
      case 'reasoning-end':
        return this.#endThought(event.signature, emit)
      case 'media':
        this.#takeSpace()
        if (event.media.signature !== undefined) this.#signatureBefore(event.media.signature, emit)
        return this.#whole(
          { type: 'text', text: '', ...NO_CITATIONS },
          { type: 'text_delta', text: mediaWords(event.media) },
          emit,
        )
      case 'opaque':
        this.#takeSpace()
        if (event.part.format !== FORMAT) this.#search.search(event.part)
        else if (isJsonObject(event.part.value)) this.#own(event.part.value, emit)
        return
      default:
        event satisfies never
    }
  }

  /** Ends what is open, since nothing follows. */
  end(emit: EmitText): void {
    this.close(emit)
    this.#leaveUnsigned(emit)
    for (const block of this.#search.blocks()) this.#own(block, emit)
  }

  /** Ends the open block, if one is open. */
  close(emit: EmitText): void {
    const current = this.#current
    if (current === undefined) return
    if (current.kind === 'thinking') return this.#endThought(undefined, emit)
    if (current.kind === 'tool') return this.#endTool(undefined, emit)
    if (current.shown) this.#stop(emit)
    else this.#space = current.held
    this.#forget()
  }

  /** See StreamEncoder. */
  plainText(block: number): PlainWriter | undefined {
    const current = this.#current
    if (current?.block !== block || !current.shown) return undefined
    if (current.kind === 'thinking' && (current.redacted || !this.#showThoughts)) return undefined
    if (current.kind === 'tool' && current.tool === 'custom') return undefined
    return {
      before: `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#index},"delta":{${PIECES[current.kind]}"`,
      numbered: undefined,
      after: '"}}\n\n',
      held: undefined,
      note: NO_NOTE,
    }
  }

  /** It stands before nothing but a text. */
  #takeSpace(): string {
    const space = this.#space
    this.#space = ''
    return space
  }

  #text(text: string, emit: EmitText): void {
    const current = this.#current
    if (text === '' || current?.kind !== 'text') return
    if (current.shown) return this.#piece('text', text, emit)
    if (text.trim() === '') current.held += text
    else this.#showText(current, text, emit)
  }

  /** Begins a text with what was held back of it, if it has not begun yet. */
  #showText(current: Extract<Current, { kind: 'text' }>, text: string, emit: EmitText): void {
    this.#show(current, TEXT_BLOCK, emit)
    const begun = current.held + text
    current.held = ''
    if (begun !== '') this.#piece('text', begun, emit)
  }

  #paragraph(current: Extract<Current, { kind: 'thinking' }>, emit: EmitText): void {
    current.paragraphs += 1
    if (current.paragraphs > 1 && current.shown) this.#thought('\n\n', emit)
  }

  #thought(text: string, emit: EmitText): void {
    const current = this.#current
    if (text === '' || !this.#showThoughts || current?.kind !== 'thinking' || current.redacted) return
    if (!current.shown) this.#show(current, THINKING_BLOCK, emit)
    this.#piece('thinking', text, emit)
  }

  #endThought(signature: Signature | undefined, emit: EmitText): void {
    const current = this.#current
    if (current?.kind !== 'thinking') return
    if (current.redacted) {
      if (signature === undefined) return this.#forget()
      this.#redacted(signature, emit)
      return this.#forget()
    }
    // A thought that says nothing and proves nothing is left out.
    if (!current.shown && signature === undefined && this.#showThoughts) return this.#forget()
    if (!current.shown) this.#show(current, THINKING_BLOCK, emit)
    if (signature === undefined) this.#isUnsigned = true
    else this.#sign(signature, emit)
    this.#forget()
  }

  /** A thought whose signature never came. */
  #leaveUnsigned(emit: EmitText): void {
    if (!this.#isUnsigned) return
    this.#isUnsigned = false
    this.#sign(undefined, emit)
  }

  #sign(signature: Signature | undefined, emit: EmitText): void {
    this.#delta({ type: 'signature_delta', signature: replySignature(signature) }, emit)
    this.#stop(emit)
  }

  #startTool(event: EventOf<'tool-input-start'>, emit: EmitText): void {
    this.written.toolUse = true
    this.#takeSpace()
    const isSigned = event.signature !== undefined
    if (event.signature !== undefined) this.#signatureBefore(event.signature, emit)
    const id = fitCallId(event.callId)
    const start = JSON.stringify({ type: 'tool_use', id, name: event.name, input: {}, ...DIRECT_CALLER })
    const tool = event.kind
    this.#current = { kind: 'tool', block: event.block, shown: false, tool, start, held: '', isSigned }
  }

  #input(text: string, emit: EmitText): void {
    const current = this.#current
    if (text === '' || current?.kind !== 'tool') return
    if (current.shown) return this.#piece('tool', text, emit)
    // Text that is no object becomes a member of one, which needs all of it.
    if (current.tool === 'custom' || !current.held.trimStart().startsWith('{')) {
      current.held += text
      return
    }
    this.#showTool(current, current.held, emit)
    this.#piece('tool', text, emit)
  }

  #endTool(signature: Signature | undefined, emit: EmitText): void {
    const current = this.#current
    if (current?.kind !== 'tool') return
    const news = current.isSigned ? undefined : signature
    const isLate = current.shown
    if (!isLate) {
      if (news !== undefined) this.#signatureBefore(news, emit)
      this.#showTool(current, objectText(current.tool, current.held), emit)
    }
    this.#stop(emit)
    this.#forget()
    // A hidden thought behind a call is read as the call's.
    if (isLate && news !== undefined && this.#sealThoughts) this.#redacted(news, emit)
  }

  #showTool(current: Extract<Current, { kind: 'tool' }>, input: string, emit: EmitText): void {
    this.#show(current, current.start, emit)
    this.#piece('tool', input, emit)
  }

  /**
   * A signature of Gemini's on a call or an image has no field in their blocks: it travels in the thought before them, or
   * in an empty one where none waits for it.
   */
  #signatureBefore(signature: Signature, emit: EmitText): void {
    if (!this.#sealThoughts) return
    if (!this.#isUnsigned) this.#startBlock(THINKING_BLOCK, emit)
    this.#isUnsigned = false
    this.#sign(signature, emit)
  }

  #redacted(signature: Signature, emit: EmitText): void {
    this.#whole({ type: 'redacted_thinking', data: replySignature(signature) }, undefined, emit)
  }

  /** A piece of the text that a block has. */
  #piece(kind: Current['kind'], text: string, emit: EmitText): void {
    emit(
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#index},"delta":{${PIECES[kind]}${JSON.stringify(text)}}}\n\n`,
    )
  }

  #whole(block: JsonObject, delta: JsonObject | undefined, emit: EmitText): void {
    this.#startBlock(JSON.stringify(block), emit)
    if (delta !== undefined) this.#delta(delta, emit)
    this.#stop(emit)
  }

  /** A block of this API's alone: of a call the input comes as a delta, from which clients put it together. */
  #own(block: JsonObject, emit: EmitText): void {
    const { input } = block
    if (!isJsonObject(input)) return this.#whole(block, undefined, emit)
    const delta = { type: 'input_json_delta', partial_json: JSON.stringify(input) }
    this.#whole({ ...block, input: {} }, delta, emit)
  }

  #show(current: { shown: boolean }, block: string, emit: EmitText): void {
    if (current.shown) return
    current.shown = true
    this.#startBlock(block, emit)
  }

  #startBlock(block: string, emit: EmitText): void {
    this.#leaveUnsigned(emit)
    emit(
      `event: content_block_start\ndata: {"type":"content_block_start","index":${this.#index},"content_block":${block}}\n\n`,
    )
  }

  #delta(delta: JsonObject, emit: EmitText): void {
    emit(
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#index},"delta":${JSON.stringify(delta)}}\n\n`,
    )
  }

  #stop(emit: EmitText): void {
    emit(`event: content_block_stop\ndata: {"type":"content_block_stop","index":${this.#index}}\n\n`)
    this.#index += 1
  }

  #forget(): void {
    this.#current = undefined
  }
}

/** The text of a call's whole input, as the object that the API has of every call: as it came, where it is one. */
function objectText(kind: ToolCallKind, input: string): string {
  const isObject = kind !== 'custom' && input.trim() !== '' && inputObject(kind, input) !== undefined
  return isObject ? input : JSON.stringify(wrappedInput(kind, input))
}

/** What each kind of block calls its deltas, and the text in them. */
const PIECES = {
  text: '"type":"text_delta","text":',
  thinking: '"type":"thinking_delta","thinking":',
  tool: '"type":"input_json_delta","partial_json":',
} as const

const TEXT_BLOCK = JSON.stringify({ type: 'text', text: '', ...NO_CITATIONS })
const THINKING_BLOCK = '{"type":"thinking","thinking":"","signature":""}'
