import type { AnswerScope } from '@/formats/codec.ts'
import { customCallIn, isEmpty } from '@/formats/openai-chat-completions/empty.ts'
import { thoughtSignature } from '@/formats/openai-chat-completions/thought-signature.ts'
import { joinPairs } from '@/formats/surrogates.ts'
import { CallIds } from '@/formats/tools/call-ids.ts'
import { inputText } from '@/formats/tools/call-input.ts'
import type { Emit } from '@/generation/event.ts'
import type { Signature } from '@/generation/part.ts'
import { asNonEmpty, asNumber, asObject, asString, type JsonObject } from '@/json/json.ts'

/** What the calls of one answer share with the rest of it. */
interface CallScope extends Omit<AnswerScope, 'nextBlock'> {
  candidate: number
  /** Ends the text before the first call; gives the next block's number. */
  openBlock: (emit: Emit) => number
}

/** A call under construction. */
interface OpenCall {
  id: string | undefined
  name: string
  kind: 'function' | 'custom'
  /** Undefined until the call has a name and input: names come in pieces at some vendors. */
  block: number | undefined
  input: string
  /** Whether more came of its input than an empty object. */
  hasInput: boolean
  /** Some of its input was told. */
  isTold: boolean
  /** The first half of a surrogate pair at the end of the last delta. */
  held: string
  signature: Signature | undefined
  ended: boolean
}

/**
 * Puts tool call deltas together. Vendors differ in how they say which call a delta belongs to: an index from 0 or
 * elsewhere, the same index for every call, an id each time, nothing at all.
 */
export class CallsReader {
  readonly #scope: CallScope
  readonly #ids: CallIds
  readonly #calls: OpenCall[] = []
  /** By index, and by id. */
  readonly #known = new Map<number | string, OpenCall>()
  /** How many of the first calls have all begun. */
  #begun = 0
  /** The call that the last entry belonged to. */
  #last: OpenCall | undefined

  constructor(scope: CallScope) {
    this.#scope = scope
    this.#ids = new CallIds(scope)
  }

  get any(): boolean {
    return this.#calls.length > 0
  }

  /** True when the input of one of the calls has begun and is no JSON yet. */
  get isCut(): boolean {
    return this.#calls.some(({ kind, input }) => kind === 'function' && input.trim() !== '' && !isJson(input))
  }

  /** @param position where the entry stands in its delta, when that has several. */
  push(entry: JsonObject, position: number | undefined, emit: Emit): void {
    const custom = customCallIn(entry)
    const body = custom ?? asObject(entry['function'])
    const name = asString(body?.['name']) ?? ''
    const call = this.#callOf(entry, name, position)
    this.#last = call
    if (call.ended) return
    if (custom !== undefined || entry['type'] === 'custom') call.kind = 'custom'
    call.signature = thoughtSignature(entry, this.#scope.vendor) ?? call.signature
    const piece = inputText(custom === undefined ? body?.['arguments'] : custom['input'])
    // A whole call that comes again, as with the finish of some vendors, is no more input.
    const isRepeated = name !== '' && call.id === entry['id'] && piece === call.input && isWhole(piece)
    if (piece !== '' && !isRepeated) this.#append(call, piece, emit)
  }

  /** True when an entry like this one, which was pushed last, gives its arguments to the same call and no more. */
  isPlain(entry: JsonObject): boolean {
    const { index, id, type, function: body, ...more } = entry
    const { name, arguments: input, ...others } = asObject(body) ?? {}
    const isMore = [name, ...Object.values(more), ...Object.values(others)].some(value => !isEmpty(value))
    if (isMore || type === 'custom' || typeof input !== 'string' || this.#last === undefined) return false
    const { isTold, held, ended } = this.#last
    return isTold && held === '' && !ended
  }

  /** Takes note of input of that call that came past `push`. */
  skip(input: string): void {
    if (this.#last !== undefined) this.#last.input += input
  }

  /** Tells of calls without arguments, which may have been yet to come. To be called where nothing more does. */
  breakOff(emit: Emit): void {
    for (const call of this.#calls) {
      if (call.name === '' || call.input === '' || !isEmptyCall(call)) continue
      emit({ type: 'tool-input-delta', block: this.#begin(call, emit), text: '{}' })
    }
  }

  /** Ends every call that is open. */
  end(emit: Emit): void {
    for (const call of this.#calls) {
      if (call.ended) continue
      call.ended = true
      const rest = call.isTold ? call.held : call.input
      const block = this.#begin(call, emit)
      // A call without arguments may come with none, with "", with "{}": one spelling for all.
      if (isEmptyCall(call)) emit({ type: 'tool-input-delta', block, text: '{}' })
      else if (rest !== '') emit({ type: 'tool-input-delta', block, text: rest })
      emit({ type: 'tool-input-end', block, signature: call.signature })
    }
  }

  #callOf(entry: JsonObject, name: string, position: number | undefined): OpenCall {
    const index = asNumber(entry['index']) ?? position
    const id = asNonEmpty(entry['id'])
    const known = this.#find(index, id, name)
    if (known === undefined || isAnother(known, id, name)) return this.#add(index, id, name)
    if (known.id === undefined) this.#identify(known, id)
    if (known.block === undefined && name !== known.name) known.name += name
    return known
  }

  #find(index: number | undefined, id: string | undefined, name: string): OpenCall | undefined {
    const place = index ?? id
    if (place !== undefined) return this.#known.get(place)
    const last = this.#calls.at(-1)
    return name === '' || last?.block === undefined ? last : undefined
  }

  #add(index: number | undefined, id: string | undefined, name: string): OpenCall {
    const call: OpenCall = {
      id: undefined,
      name,
      kind: 'function',
      block: undefined,
      input: '',
      hasInput: false,
      isTold: false,
      held: '',
      signature: undefined,
      ended: false,
    }
    this.#calls.push(call)
    if (index !== undefined) this.#known.set(index, call)
    this.#identify(call, id)
    return call
  }

  /** Gives a call its id, unless that is another's: it gets one of ours then. */
  #identify(call: OpenCall, id: string | undefined): void {
    if (id === undefined || this.#known.has(id)) return
    call.id = id
    this.#known.set(id, call)
  }

  #append(call: OpenCall, piece: string, emit: Emit): void {
    call.input = call.hasInput ? call.input + piece : piece
    call.hasInput ||= call.kind === 'custom' || !saysNothing(piece)
    if (call.name === '' || !call.hasInput) return
    const block = this.#begin(call, emit)
    const text = joinPairs(call, call.isTold ? piece : call.input)
    call.isTold = true
    if (text !== '') emit({ type: 'tool-input-delta', block, text })
  }

  /** Starts a call, and before it those that came first but have no input yet, so that their order stays. */
  #begin(call: OpenCall, emit: Emit): number {
    if (call.block !== undefined) return call.block
    while (this.#calls[this.#begun]?.block !== undefined) this.#begun += 1
    for (let at = this.#begun; ; at += 1) {
      const earlier = this.#calls[at]
      if (earlier === undefined || earlier === call) break
      if (earlier.block === undefined && earlier.name !== '') this.#start(earlier, emit)
    }
    return this.#start(call, emit)
  }

  #start(call: OpenCall, emit: Emit): number {
    const block = this.#scope.openBlock(emit)
    call.block = block
    const callId = this.#ids.take(call.id)
    emit({
      type: 'tool-input-start',
      block,
      candidate: this.#scope.candidate,
      kind: call.kind,
      callId,
      name: call.name,
      namespace: undefined,
      ...(call.signature === undefined ? {} : { signature: call.signature }),
    })
    return block
  }
}

/**
 * True when a delta that names a known place begins another call: Gemini's own surface of this format numbers all
 * parallel calls 0, others give neither index nor id. Only a whole call can be followed by another.
 */
function isAnother(known: OpenCall, id: string | undefined, name: string): boolean {
  return name !== '' && (id === undefined || id !== known.id) && known.name !== '' && isWhole(known.input)
}

/** No arguments came, or none yet. */
function isEmptyCall({ kind, hasInput }: OpenCall): boolean {
  return kind === 'function' && !hasInput
}

/** Some gateways write an empty object before the arguments: https://github.com/openai/openai-agents-js/pull/712 */
function saysNothing(piece: string): boolean {
  const said = piece.trim()
  return said === '' || said === '{}'
}

function isWhole(input: string): boolean {
  return input.trimEnd().endsWith('}') && isJson(input)
}

function isJson(input: string): boolean {
  try {
    JSON.parse(input)
    return true
  } catch {
    return false
  }
}
