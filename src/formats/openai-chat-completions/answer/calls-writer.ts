import { isCustom } from '@/formats/openai-chat-completions/reply.ts'
import { replySignatureField } from '@/formats/openai-chat-completions/thought-signature.ts'
import type { PlainWriter } from '@/formats/plain/plain-text.ts'
import { joinPairs } from '@/formats/surrogates.ts'
import type { EmitText, EventOf } from '@/generation/event.ts'
import type { Signature } from '@/generation/part.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'
import type { Around, ChunkWriter } from './chunk-writer.ts'

/** A call on its way to the caller. */
interface WrittenCall {
  start: EventOf<'tool-input-start'>
  /** Its number among the answer's calls. */
  index: number
  input: string
  /** The first half of a surrogate pair, waiting for the other. */
  held: string
  /** False while it is held back. */
  isStarted: boolean
  /** How it ended, if it did while it waited for the one before it. */
  ended: Pick<EventOf<'tool-input-end'>, 'signature'> | undefined
  /** The two halves of a chunk around a piece of the input. */
  around: Around
}

/**
 * Writes the tool calls of one choice. A call is held back until its second delta: clients (AI SDK) read a thought
 * signature only from the chunk that starts the call, and the neutral events tell it last. From Gemini, the vendor
 * with signatures on calls, the input is whole in one delta, so start and end are known together.
 *
 * Calls that come at once are written one after another: OpenAI's SDKs take a call for whole when a chunk of the next
 * one comes, and then parse the input of a strict tool.
 */
export class CallsWriter {
  readonly isLegacy: boolean
  readonly #candidate: number
  readonly #chunks: ChunkWriter
  readonly #calls: (WrittenCall | undefined)[] = []
  /** The call that is being written. */
  #current: WrittenCall | undefined
  readonly #waiting: WrittenCall[] = []
  /** The current call, while it is held back. */
  #held: WrittenCall | undefined
  #count = 0

  constructor(candidate: number, chunks: ChunkWriter, isLegacy: boolean) {
    this.#candidate = candidate
    this.#chunks = chunks
    this.isLegacy = isLegacy
  }

  get any(): boolean {
    return this.#count > 0
  }

  /** True when the input of one of the calls is whole. */
  get usable(): boolean {
    return this.#calls.some(
      call => call !== undefined && (isCustom(call.start.kind) || parseObject(call.input) !== undefined),
    )
  }

  start(event: EventOf<'tool-input-start'>, emit: EmitText): void {
    this.flush(emit)
    const index = this.#count
    this.#count += 1
    const call: WrittenCall = {
      start: event,
      index,
      input: '',
      held: '',
      isStarted: false,
      ended: undefined,
      around: this.#around(event, index),
    }
    this.#calls[event.block] = call
    this.#waiting.push(call)
    if (this.#current === undefined) this.#advance(emit)
  }

  delta(event: EventOf<'tool-input-delta'>, emit: EmitText): void {
    const call = this.#calls[event.block]
    if (call === undefined || event.text === '') return
    if (this.#held === call && call.input !== '') this.flush(emit)
    call.input += event.text
    if (call.isStarted) this.#write(call, event.text, emit)
  }

  end(event: EventOf<'tool-input-end'>, emit: EmitText): void {
    const call = this.#calls[event.block]
    if (call === undefined) return
    if (call !== this.#current) {
      call.ended = event
      return
    }
    this.#end(call, event.signature, emit)
    this.#advance(emit)
  }

  /** Writes all that waits, because the answer is over. */
  finish(emit: EmitText): void {
    while (this.#current !== undefined) {
      this.flush(emit)
      this.#advance(emit)
    }
  }

  /** The next call becomes the current one, and those after it that are whole by now are written, too. */
  #advance(emit: EmitText): void {
    for (;;) {
      const call = this.#waiting.shift()
      this.#current = call
      this.#held = call
      if (call?.ended === undefined) break
      this.#end(call, call.ended.signature, emit)
    }
    if (this.#held?.input !== '') this.flush(emit)
  }

  #end(call: WrittenCall, signature: Signature | undefined, emit: EmitText): void {
    // An empty string of arguments is not JSON, and clients parse it.
    if (call.input === '' && !isCustom(call.start.kind)) {
      call.input = '{}'
      if (call.isStarted) this.#write(call, '{}', emit)
    }
    if (this.#held === call) {
      this.#held = undefined
      this.#begin(call, signature, emit)
    } else if (signature !== undefined && !this.isLegacy) {
      const body = isCustom(call.start.kind) ? { custom: { input: '' } } : { function: { arguments: '' } }
      this.#delta({ tool_calls: [{ index: call.index, ...body, ...replySignatureField(signature) }] }, emit)
    }
    if (call.held !== '') this.#emitPiece(call, call.held, emit)
    call.held = ''
  }

  /** See StreamEncoder. */
  plainText(block: number): PlainWriter | undefined {
    const call = this.#calls[block]
    if (call?.isStarted !== true || this.#held !== undefined) return undefined
    if (call.held !== '' || call.input === '' || !this.#isWritten(call)) return undefined
    return {
      before: `${call.around.before}"`,
      numbered: undefined,
      after: `"${call.around.after}`,
      held: undefined,
      note: {
        of: 'text',
        add: text => {
          call.input += text
        },
      },
    }
  }

  /** Writes what is held back, because something else is to be written. */
  flush(emit: EmitText): void {
    const call = this.#held
    this.#held = undefined
    if (call !== undefined) this.#begin(call, undefined, emit)
  }

  #begin(call: WrittenCall, signature: Signature | undefined, emit: EmitText): void {
    call.isStarted = true
    if (this.#isWritten(call)) this.#delta(this.#opening(call, signature), emit)
    if (call.input !== '') this.#write(call, call.input, emit)
  }

  #opening(call: WrittenCall, signature: Signature | undefined): JsonObject {
    const { name, callId: id, kind } = call.start
    if (this.isLegacy) return { function_call: { name, arguments: '' } }
    const body = isCustom(kind)
      ? { type: 'custom', custom: { name, input: '' } }
      : { type: 'function', function: { name, arguments: '' } }
    return { tool_calls: [{ index: call.index, id, ...body, ...replySignatureField(signature) }] }
  }

  #around(start: EventOf<'tool-input-start'>, index: number): { before: string; after: string } {
    if (this.isLegacy) return this.#chunks.around(this.#candidate, '{"function_call":{"arguments":', '}}')
    const field = isCustom(start.kind) ? '"custom":{"input":' : '"function":{"arguments":'
    return this.#chunks.around(this.#candidate, `{"tool_calls":[{"index":${index},${field}`, '}}]}')
  }

  /** The legacy shape has room for one call. */
  #isWritten(call: WrittenCall): boolean {
    return !this.isLegacy || call.index === 0
  }

  #write(call: WrittenCall, delta: string, emit: EmitText): void {
    const text = joinPairs(call, delta)
    if (text !== '') this.#emitPiece(call, text, emit)
  }

  #emitPiece(call: WrittenCall, text: string, emit: EmitText): void {
    if (!this.#isWritten(call)) return
    emit(`${call.around.before}${JSON.stringify(text)}${call.around.after}`)
  }

  #delta(delta: JsonObject, emit: EmitText): void {
    emit(this.#chunks.delta(this.#candidate, delta))
  }
}
