import { type Emit, type EventOf, type GenerationEvent, withhold } from '@/generation/event.ts'
import type { StreamMachine } from '@/generation/machine.ts'

/** A machine that ends the answer where the caller said. */
interface StopMachine extends StreamMachine<GenerationEvent, GenerationEvent> {
  /** True once a sequence was found: of that candidate only usage follows. */
  readonly hit: boolean
}

/**
 * Cuts an answer's text where the first of these sequences is complete, for upstreams that cannot be told. The
 * sequence is not part of the answer, and neither is anything after it but usage. Reasoning, refusals and tool input
 * are not searched. No more text is held back than may be the start of a sequence.
 */
export function emulateStop(stop: readonly string[]): StopMachine {
  return new StopEmulator(stop.filter(sequence => sequence !== ''))
}

/** A block that began and has not ended. */
interface OpenBlock {
  candidate: number
  /** How it ends when the answer is cut. */
  end: GenerationEvent
  /** Text that may be the start of a sequence. */
  held: string
}

class StopEmulator implements StopMachine {
  readonly #stop: readonly string[]
  readonly #longest: number
  readonly #open = new Map<number, OpenBlock>()
  /** The candidates of texts that have ended: their sources may come later. */
  readonly #ended = new Map<number, number>()
  readonly #cut = new Set<number>()
  /** Candidates that began and have not finished. */
  readonly #writing = new Set<number>()

  constructor(stop: readonly string[]) {
    this.#stop = stop
    this.#longest = Math.max(0, ...stop.map(sequence => sequence.length))
  }

  get hit(): boolean {
    return this.#cut.size > 0
  }

  push(event: GenerationEvent, emit: Emit): void {
    switch (event.type) {
      case 'start':
      case 'usage':
      case 'withheld':
        return emit(event)
      case 'text-delta':
        return this.#text(event, emit)
      case 'text-start':
        return this.#begin(event, { type: 'text-end', block: event.block, signature: undefined }, emit)
      case 'refusal-start':
        return this.#begin(event, { type: 'refusal-end', block: event.block }, emit)
      case 'reasoning-start':
        return this.#begin(event, { type: 'reasoning-end', block: event.block, signature: undefined }, emit)
      case 'tool-input-start':
        return this.#begin(event, { type: 'tool-input-end', block: event.block, signature: undefined }, emit)
      case 'text-citation': {
        const ended = this.#ended.get(event.block)
        if (this.#open.has(event.block) || (ended !== undefined && !this.#cut.has(ended))) emit(event)
        return
      }
      case 'refusal-delta':
      case 'reasoning-paragraph':
      case 'reasoning-delta':
      case 'tool-input-delta':
        if (this.#open.has(event.block)) emit(event)
        return
      case 'text-end':
      case 'refusal-end':
      case 'reasoning-end':
      case 'tool-input-end':
        return this.#finishBlock(event, emit)
      case 'media':
      case 'opaque':
      case 'logprobs':
        if (!this.#cut.has(event.candidate)) emit(event)
        return
      case 'finish':
        this.#writing.delete(event.candidate)
        if (!this.#cut.has(event.candidate)) emit(event)
        return
      case 'error':
        return this.#error(event, emit)
      default:
        event satisfies never
    }
  }

  end(): void {
    this.#open.clear()
  }

  #begin(
    event: GenerationEvent & { block: number; candidate: number },
    end: GenerationEvent,
    emit: Emit,
  ): void {
    if (this.#cut.has(event.candidate)) return
    this.#writing.add(event.candidate)
    this.#open.set(event.block, { candidate: event.candidate, end, held: '' })
    emit(event)
  }

  #text(event: EventOf<'text-delta'>, emit: Emit): void {
    const block = this.#open.get(event.block)
    if (block === undefined) return
    const text = block.held + event.text
    const found = firstComplete(text, this.#stop)
    if (found !== undefined) {
      block.held = text.slice(0, found.start)
      return this.#cutAnswer(block.candidate, found.sequence, emit)
    }
    const safe = this.#safeLength(text)
    const unchanged = block.held === '' && safe === text.length
    block.held = text.slice(safe)
    if (unchanged) emit(event)
    else if (safe > 0) emit({ type: 'text-delta', block: event.block, text: text.slice(0, safe) })
  }

  /** How much of the text is certainly no part of a sequence. */
  #safeLength(text: string): number {
    for (let at = Math.max(0, text.length - this.#longest + 1); at < text.length; at += 1) {
      const rest = text.slice(at)
      if (this.#stop.some(sequence => sequence.startsWith(rest))) return at
    }
    return text.length
  }

  #cutAnswer(candidate: number, stopSequence: string, emit: Emit): void {
    this.#cut.add(candidate)
    this.#writing.delete(candidate)
    for (const [number, block] of this.#open) {
      if (block.candidate !== candidate) continue
      this.#release(number, block, emit)
      this.#open.delete(number)
      emit(block.end)
    }
    emit({ type: 'finish', candidate, finish: { reason: 'stop-sequence', stopSequence, message: undefined } })
  }

  #finishBlock(event: GenerationEvent & { block: number }, emit: Emit): void {
    const block = this.#open.get(event.block)
    if (block === undefined) return
    this.#release(event.block, block, emit)
    this.#open.delete(event.block)
    if (event.type === 'text-end') this.#ended.set(event.block, block.candidate)
    emit(event)
  }

  #release(number: number, block: OpenBlock, emit: Emit): void {
    if (block.held !== '') emit({ type: 'text-delta', block: number, text: block.held })
    block.held = ''
  }

  /** A failure after every candidate was cut or finished is none of the caller's: the answer is whole. */
  #error(event: GenerationEvent, emit: Emit): void {
    if (this.hit && this.#writing.size === 0) return
    for (const [number, block] of this.#open) this.#release(number, block, emit)
    emit(event)
  }
}

/**
 * The sequence that a writer completes first, whatever pieces the text came in; of two that end at the same place
 * the longer one.
 */
function firstComplete(
  text: string,
  stop: readonly string[],
): { start: number; sequence: string } | undefined {
  let first: { start: number; sequence: string } | undefined
  for (const sequence of stop) {
    const start = text.indexOf(sequence)
    if (start < 0) continue
    const lead = first === undefined ? -1 : start + sequence.length - (first.start + first.sequence.length)
    if (first === undefined || lead < 0 || (lead === 0 && start < first.start)) first = { start, sequence }
  }
  return first
}

/**
 * Turns the call of a forced tool, whose input is the structured output that was asked for, into the text that the
 * caller expects, and the finish `tool-calls` into `end` unless other tools were called too. A second call of the
 * tool is left out: two JSON documents in a row would be none.
 */
export function unwrapOutputTool(name: string): StreamMachine<GenerationEvent, GenerationEvent> {
  return new OutputToolUnwrapper(name)
}

class OutputToolUnwrapper implements StreamMachine<GenerationEvent, GenerationEvent> {
  readonly #name: string
  /** Open calls of the tool: whether they are passed on, and whether any input came. */
  readonly #calls = new Map<number, { first: boolean; empty: boolean }>()
  readonly #unwrapped = new Set<number>()
  readonly #otherCalls = new Set<number>()

  constructor(name: string) {
    this.#name = name
  }

  push(event: GenerationEvent, emit: Emit): void {
    switch (event.type) {
      case 'tool-input-start':
        return this.#start(event, emit)
      case 'tool-input-delta':
        return this.#delta(event, emit)
      case 'tool-input-end':
        return this.#finishCall(event, emit)
      case 'finish':
        return emit(this.#finish(event))
      default:
        return emit(event)
    }
  }

  end(): void {
    this.#calls.clear()
  }

  #start(event: EventOf<'tool-input-start'>, emit: Emit): void {
    if (event.name !== this.#name) {
      this.#otherCalls.add(event.candidate)
      return emit(event)
    }
    const first = !this.#unwrapped.has(event.candidate)
    this.#unwrapped.add(event.candidate)
    this.#calls.set(event.block, { first, empty: true })
    if (first) emit({ type: 'text-start', block: event.block, candidate: event.candidate })
  }

  #delta(event: EventOf<'tool-input-delta'>, emit: Emit): void {
    const call = this.#calls.get(event.block)
    if (call === undefined) return emit(event)
    call.empty &&= event.text === ''
    if (call.first) emit({ type: 'text-delta', block: event.block, text: event.text })
    else withhold(event.text, emit)
  }

  #finishCall(event: EventOf<'tool-input-end'>, emit: Emit): void {
    const call = this.#calls.get(event.block)
    if (call === undefined) return emit(event)
    this.#calls.delete(event.block)
    if (!call.first) return
    if (call.empty) emit({ type: 'text-delta', block: event.block, text: '{}' })
    emit({ type: 'text-end', block: event.block, signature: event.signature })
  }

  #finish(event: EventOf<'finish'>): GenerationEvent {
    const { candidate, finish } = event
    const calledOnlyOutput = this.#unwrapped.has(candidate) && !this.#otherCalls.has(candidate)
    if (finish.reason !== 'tool-calls' || !calledOnlyOutput) return event
    return { type: 'finish', candidate, finish: { ...finish, reason: 'end' } }
  }
}
