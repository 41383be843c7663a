import type { Emit, GenerationEvent } from '@/generation/event.ts'
import type { StreamMachine } from '@/generation/machine.ts'
import type { Signature } from '@/generation/part.ts'
import type { ThinkTags } from '@/generation/think-tags.ts'

const OPEN = '<think>'
const CLOSE = '</think>'

/**
 * Takes the tags at the head of a text apart into reasoning and text. Only the head is looked at, since a text may well
 * speak of the tag; where the opening one is not written, a text begins with the thought, and one that has it all the
 * same loses it.
 */
export function splitThinkTags(tags: ThinkTags): StreamMachine<GenerationEvent, GenerationEvent> {
  return new ThinkTagSplitter(tags)
}

/** Where a text stands: before it is known whether it thinks, in the thought, behind it, or in plain text. */
type Place = 'head' | 'thought' | 'gap' | 'text'

interface SplitText {
  candidate: number
  place: Place
  /** Text that may be the beginning of a tag, or white space around one. */
  held: string
  /** The number of the block that is open for it; undefined when none is. */
  block: number | undefined
}

class ThinkTagSplitter implements StreamMachine<GenerationEvent, GenerationEvent> {
  /** What a text is that does not begin with the opening tag. */
  readonly #untagged: 'thought' | 'text'
  readonly #texts = new Map<number, SplitText>()
  /** The blocks of texts that have ended: their sources may come later. */
  readonly #ended = new Map<number, number>()
  /** Blocks are numbered anew, as one may become two. */
  readonly #numbers = new Map<number, number>()
  readonly #hasSpoken = new Set<number>()
  #next = 0

  constructor(tags: ThinkTags) {
    this.#untagged = tags === 'closing' ? 'thought' : 'text'
  }

  push(event: GenerationEvent, emit: Emit): void {
    switch (event.type) {
      case 'text-start':
        return this.#begin(event.block, event.candidate)
      case 'text-delta': {
        const text = this.#texts.get(event.block)
        if (text !== undefined) this.#write(text, event.text, emit)
        return
      }
      case 'text-citation': {
        const block = this.#texts.get(event.block)?.block ?? this.#ended.get(event.block)
        if (block !== undefined) emit({ ...event, block })
        return
      }
      case 'text-end':
        return this.#end(event.block, event.signature, emit)
      default:
        return emit('block' in event ? { ...event, block: this.#number(event.block) } : event)
    }
  }

  end(): void {}

  /** Only a candidate's first text can begin with a thought. */
  #begin(block: number, candidate: number): void {
    const isFirst = !this.#hasSpoken.has(candidate)
    this.#hasSpoken.add(candidate)
    this.#texts.set(block, { candidate, place: isFirst ? 'head' : 'text', held: '', block: undefined })
  }

  #write(text: SplitText, delta: string, emit: Emit): void {
    let rest = text.held + delta
    text.held = ''
    if (text.place === 'head') rest = this.#readHead(text, rest)
    if (text.place === 'thought') rest = this.#readThought(text, rest, emit)
    if (text.place === 'gap') rest = this.#readGap(text, rest)
    if (text.place === 'text' && rest !== '') this.#emitText(text, rest, emit)
  }

  #readHead(text: SplitText, rest: string): string {
    const head = rest.trimStart()
    if (head.startsWith(OPEN)) {
      text.place = 'thought'
      return head.slice(OPEN.length)
    }
    if (OPEN.startsWith(head)) {
      text.held = rest
      return ''
    }
    text.place = this.#untagged
    return rest
  }

  #readThought(text: SplitText, rest: string, emit: Emit): string {
    const at = rest.indexOf(CLOSE)
    const kept = at === -1 ? beginningOfClose(rest) : 0
    this.#emitThought(text, at === -1 ? rest.slice(0, rest.length - kept) : rest.slice(0, at), emit)
    if (at === -1) {
      text.held = rest.slice(rest.length - kept)
      return ''
    }
    this.#endThought(text, emit)
    text.place = 'gap'
    return rest.slice(at + CLOSE.length)
  }

  /** White space between the thought and the text belongs to neither. */
  #readGap(text: SplitText, rest: string): string {
    const said = rest.trimStart()
    if (said !== '') text.place = 'text'
    return said
  }

  #emitThought(text: SplitText, thought: string, emit: Emit): void {
    // The line break behind the opening tag is not a thought.
    const said = text.block === undefined ? thought.trimStart() : thought
    if (said === '') return
    if (text.block === undefined) {
      text.block = this.#next++
      const { block, candidate } = text
      emit({ type: 'reasoning-start', block, candidate, id: undefined, raw: true, redacted: false })
      emit({ type: 'reasoning-paragraph', block })
    }
    emit({ type: 'reasoning-delta', block: text.block, text: said })
  }

  #endThought(text: SplitText, emit: Emit): void {
    if (text.block !== undefined) emit({ type: 'reasoning-end', block: text.block, signature: undefined })
    text.block = undefined
  }

  #emitText(text: SplitText, said: string, emit: Emit): void {
    emit({ type: 'text-delta', block: this.#openText(text, emit), text: said })
  }

  #openText(text: SplitText, emit: Emit): number {
    if (text.block === undefined) {
      text.block = this.#next++
      emit({ type: 'text-start', block: text.block, candidate: text.candidate })
    }
    return text.block
  }

  /** A tag that was never completed is what it looks like: thought inside a thought, else text. */
  #end(number: number, signature: Signature | undefined, emit: Emit): void {
    const text = this.#texts.get(number)
    if (text === undefined) return
    this.#texts.delete(number)
    if (text.place === 'thought') {
      this.#emitThought(text, text.held, emit)
      return this.#endThought(text, emit)
    }
    if (text.held !== '') this.#emitText(text, text.held, emit)
    // A text without a word still counts when it is signed, or when it was empty from the start.
    if (text.place === 'gap' && signature === undefined) return
    const block = this.#openText(text, emit)
    this.#ended.set(number, block)
    emit({ type: 'text-end', block, signature })
  }

  #number(block: number): number {
    let number = this.#numbers.get(block)
    if (number === undefined) {
      number = this.#next++
      this.#numbers.set(block, number)
    }
    return number
  }
}

/** How many characters at the end of a text may be the beginning of the closing tag. */
function beginningOfClose(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length -= 1) {
    if (CLOSE.startsWith(text.slice(-length))) return length
  }
  return 0
}
