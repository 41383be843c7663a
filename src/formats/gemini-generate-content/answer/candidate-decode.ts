import type { AnswerScope } from '@/formats/codec.ts'
import { decodeOpaque } from '@/formats/gemini-generate-content/contents-decode.ts'
import { decodeAnswerMedia, wordsAlone } from '@/formats/gemini-generate-content/media.ts'
import { FORMAT } from '@/formats/gemini-generate-content/wire.ts'
import { NO_NOTE, type PlainNote } from '@/formats/plain/plain-text.ts'
import { joinPairs } from '@/formats/surrogates.ts'
import { CallIds } from '@/formats/tools/call-ids.ts'
import type { Emit } from '@/generation/event.ts'
import type { Signature } from '@/generation/part.ts'
import type { StopReason } from '@/generation/response.ts'
import { parseExactObject } from '@/json/exact.ts'
import {
  asArray,
  asObject,
  asObjects,
  asString,
  isJsonObject,
  type JsonObject,
  present,
} from '@/json/json.ts'
import { decodeFinishReason, isVague } from './finish.ts'
import { decodeCitations, namesSources, type TextSoFar } from './grounding.ts'
import { decodeLogprobs } from './logprobs.ts'
import { PartialArgs } from './partial-args.ts'

interface TextBlock extends TextSoFar {
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
  /** The upstream's; empty: it gave none. */
  id: string
  args: PartialArgs
  signature: Signature | undefined
  /** It said that there is more; else it only has no arguments yet. */
  willContinue: boolean
}

/** What a part may hold instead of text. */
const DATA = ['functionCall', 'inlineData', 'fileData', 'executableCode', 'codeExecutionResult'] as const

/** Reads what the chunks of an answer say of one of its candidates. */
export class CandidateDecoder {
  readonly #index: number
  readonly #scope: AnswerScope
  readonly #callIds: CallIds
  #open: OpenBlock | undefined
  /** The text that the last chunk continued. */
  #grown: OpenBlock | undefined
  #call: OpenCall | undefined
  /** What calls with ids of the upstream's said, by their ids. */
  readonly #said = new Map<string, string>()
  /** Arguments came that belong to no call. */
  #hasLostCall = false
  /** Its texts so far: sources may come when theirs is over. */
  readonly #texts: TextBlock[] = []
  /** Names sources before there is any text. */
  #sourced: JsonObject | undefined
  /** How many parts it has, pieces of one taken together. */
  #parts = 0
  #called = false
  /** The last reason to end; some upstreams give one with every chunk. */
  #end: { reason: StopReason; message: string | undefined } | undefined
  /** Whether nothing has come since then. */
  #finished = false
  /** How often a chunk gave `FINISH_REASON_UNSPECIFIED`, and whether the last one did. */
  #vague = { times: 0, isLast: false }

  constructor(index: number, scope: AnswerScope) {
    this.#index = index
    this.#scope = scope
    this.#callIds = new CallIds(scope)
  }

  get isFinished(): boolean {
    return this.#finished
  }

  /** True when the next text like that of the last chunk continues it as it comes. */
  get isPlain(): boolean {
    return this.#grown !== undefined && this.#grown.signature === undefined && this.#grown.held === ''
  }

  /** For text that continues that of the last chunk and is not pushed. */
  plainNote(): PlainNote {
    const text = this.#grown
    return text?.type === 'text' ? { of: 'text', add: said => (text.text += said) } : NO_NOTE
  }

  readParts(candidate: JsonObject, emit: Emit): void {
    this.#grown = undefined
    // Before the parts, as one of them may be the end of the text that they are about.
    const logprobs = decodeLogprobs(asObject(candidate['logprobsResult']))
    if (logprobs.length > 0) emit({ type: 'logprobs', candidate: this.#index, content: logprobs })
    const parts = asObjects(asObject(candidate['content'])?.['parts'])
    const lastText = parts.findLastIndex(part => part['text'] !== undefined)
    for (const [at, part] of parts.entries()) {
      // What follows the last text ends it, and the chunk's sources are about it.
      if (at > lastText) this.#cite(candidate, emit)
      this.#readPart(part, emit)
    }
  }

  #readPart(part: JsonObject, emit: Emit): void {
    if (part['text'] !== undefined && DATA.some(name => isJsonObject(part[name]))) {
      // Servers that write every field of a part have an empty text beside what it holds.
      const { text: words, thoughtSignature, ...data } = part
      this.#readPart(present({ text: words, thought: part['thought'] }), emit)
      return this.#readPart(present({ ...data, thoughtSignature }), emit)
    }
    const text = asString(part['text']) ?? wordsAlone(part)
    const signature = this.#signature(part)
    if (text !== undefined) {
      if (text === '' && signature === undefined) return
      if (part['thought'] === true) this.#readThought(text, signature, emit)
      else this.#readText(text, signature, emit)
      return
    }
    const call = asObject(part['functionCall'])
    if (call !== undefined) return this.#readCall(call, signature, emit)
    const media = part['thought'] === true ? undefined : decodeAnswerMedia(part)
    const opaque = media === undefined ? decodeOpaque(part) : undefined
    if (media !== undefined || opaque !== undefined) this.#turn(emit)
    const candidate = this.#index
    if (media !== undefined) {
      emit({ type: 'media', candidate, block: this.#begin(), media: { ...media, signature } })
    } else if (opaque !== undefined) emit({ type: 'opaque', candidate, block: this.#begin(), part: opaque })
    else if (signature !== undefined) this.#readText('', signature, emit)
  }

  /** The number of a block that begins. */
  #begin(): number {
    this.#parts += 1
    this.#finished = false
    return this.#scope.nextBlock()
  }

  #signature(part: JsonObject): Signature | undefined {
    const value = asString(part['thoughtSignature'])
    if (value === undefined || value === '') return undefined
    return { format: FORMAT, vendor: this.#scope.vendor, value }
  }

  #readText(text: string, signature: Signature | undefined, emit: Emit): void {
    let open = this.#open
    // A signature ends its block: it must come back on a part that holds this text and no more.
    if (open?.type !== 'text' || open.signature !== undefined) {
      this.#turn(emit)
      const partIndex = this.#parts
      const block = this.#begin()
      open = { type: 'text', block, partIndex, text: '', cited: undefined, signature: undefined, held: '' }
      this.#open = open
      this.#texts.push(open)
      emit({ type: 'text-start', block: open.block, candidate: this.#index })
    }
    open.text += text
    open.signature = signature
    this.#grown = open
    const whole = joinPairs(open, text)
    if (whole !== '') emit({ type: 'text-delta', block: open.block, text: whole })
  }

  #readThought(text: string, signature: Signature | undefined, emit: Emit): void {
    let open = this.#open
    if (open?.type !== 'reasoning' || open.signature !== undefined) {
      this.#turn(emit)
      const block = this.#begin()
      open = { type: 'reasoning', block, signature: undefined, held: '' }
      this.#open = open
      const at = { block, candidate: this.#index }
      emit({ type: 'reasoning-start', ...at, id: undefined, raw: false, redacted: false })
      if (text !== '') emit({ type: 'reasoning-paragraph', block })
    }
    open.signature = signature
    this.#grown = open
    const whole = joinPairs(open, text)
    if (whole !== '') emit({ type: 'reasoning-delta', block: open.block, text: whole })
  }

  /** A call, whole in one part, or begun by its name and continued by other parts, with text between them or not. */
  #readCall(wire: JsonObject, signature: Signature | undefined, emit: Emit): void {
    const { id, name, args, hasInput } = readCallPart(wire)
    const continues = this.#call !== undefined && (name === '' || (id !== '' && id === this.#call.id))
    if (name !== '' && !continues) {
      const said = JSON.stringify([name, args])
      if (id !== '' && hasInput && this.#said.get(id) === said) return
      this.#startCall(this.#said.has(id) ? '' : id, name, emit)
      if (id !== '') this.#said.set(id, said)
    }
    const call = this.#call
    if (call === undefined) {
      this.#hasLostCall ||= hasInput
      return
    }
    call.signature ??= signature
    call.args.merge(args ?? {})
    call.args.push(wire['partialArgs'])
    call.willContinue = wire['willContinue'] === true
    const isBegun = name !== '' && !hasInput
    if (!call.willContinue && !isBegun) this.#closeCall(emit)
  }

  #startCall(id: string, name: string, emit: Emit): void {
    this.#close(emit)
    const block = this.#begin()
    const callId = this.#callIds.take(id === '' ? undefined : id)
    this.#call = { block, id, args: new PartialArgs(), signature: undefined, willContinue: false }
    this.#called = true
    const at = { block, candidate: this.#index }
    emit({ type: 'tool-input-start', ...at, kind: 'function', callId, name, namespace: undefined })
  }

  /** Something other than a call begins. */
  #turn(emit: Emit): void {
    this.#closeText(emit)
    if (this.#call?.willContinue === false) this.#closeCall(emit)
  }

  #close(emit: Emit): void {
    this.#closeText(emit)
    this.#closeCall(emit)
  }

  #closeText(emit: Emit): void {
    const open = this.#open
    this.#open = undefined
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

  #closeCall(emit: Emit): void {
    const call = this.#call
    if (call === undefined) return
    this.#call = undefined
    emit({ type: 'tool-input-delta', block: call.block, text: call.args.text() })
    emit({ type: 'tool-input-end', block: call.block, signature: call.signature })
  }

  /** Behind the parts of a chunk: why it ends, if it does. */
  readFinish(candidate: JsonObject, emit: Emit): void {
    this.#cite(candidate, emit)
    // Of reasons with nothing between them the first counts.
    if (this.#finished) return
    const reason = decodeFinishReason(candidate['finishReason'])
    if (reason === undefined) {
      const isLast = isVague(candidate['finishReason'])
      this.#vague = { times: this.#vague.times + (isLast ? 1 : 0), isLast }
      return
    }
    this.finish(reason, asString(candidate['finishMessage']), emit)
  }

  #cite(candidate: JsonObject, emit: Emit): void {
    if (this.#texts.length === 0 && namesSources(candidate)) this.#sourced = candidate
    const isWhole = this.#finished || decodeFinishReason(candidate['finishReason']) !== undefined
    for (const { of, citation } of decodeCitations(candidate, this.#texts, isWhole)) {
      // Some chunks repeat the sources of those before.
      const { url, title, start, end } = citation
      const key = JSON.stringify([url, title, start, end])
      of.cited ??= new Set()
      if (of.cited.has(key)) continue
      of.cited.add(key)
      emit({ type: 'text-citation', block: of.block, citation })
    }
  }

  finish(reason: StopReason, message: string | undefined, emit: Emit): void {
    if (this.#sourced !== undefined && this.#texts.length === 0) this.#citeAlone(this.#sourced, emit)
    this.#close(emit)
    this.#end = { reason, message }
    this.#finished = true
    const of = reason === 'end' ? this.#naturalEnd() : reason
    emit({ type: 'finish', candidate: this.#index, finish: { reason: of, stopSequence: undefined, message } })
  }

  /** Sources stand on texts: where there is none, they have one of their own. */
  #citeAlone(candidate: JsonObject, emit: Emit): void {
    this.#readText('', undefined, emit)
    // No passage follows for those that are tied to none.
    this.#finished = true
    this.#cite(candidate, emit)
  }

  /** The answer is over. */
  end(emit: Emit): void {
    const { times, isLast } = this.#vague
    if (this.#end !== undefined && !this.#finished) this.finish(this.#end.reason, this.#end.message, emit)
    // Said once, at the end, it is a reason; said in every chunk it is how the upstream says nothing.
    if (!this.#finished && isLast && times === 1) this.finish('other', undefined, emit)
  }

  #naturalEnd(): StopReason {
    if (this.#called) return 'tool-calls'
    return this.#hasLostCall ? 'malformed-tool-call' : 'end'
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
