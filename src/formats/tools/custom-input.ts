import { parseObject } from '@/json/json.ts'
import { JsonStringDecoder } from './json-string.ts'

/**
 * Takes the free text of a custom tool out of the arguments of the function that stands for it, while they stream:
 * `{"input": "..."}` with any white space and other keys around. Arguments that are no such object are the input
 * themselves; they are held back only while they may still turn out to be one.
 */
export class CustomInputDecoder {
  #state: State = 'open'
  #held = ''
  #key = ''
  #escaped = false
  readonly #skipped = { depth: 0, quoted: false }
  readonly #text = new JsonStringDecoder()

  /** The part of the input that this piece of the arguments makes known. */
  push(piece: string): string {
    if (this.#state === 'input') return this.#text.push(piece)
    if (this.#state === 'raw') return piece
    this.#held += piece
    for (let at = 0; at < piece.length; at += 1) {
      this.#state = this.#step(piece.charAt(at))
      if (this.#state === 'input') return this.#text.push(piece.slice(at + 1))
      if (this.#state === 'raw') return this.#held
    }
    return ''
  }

  /** What was held back when the arguments ended. */
  end(): string {
    if (this.#state === 'input') return this.#text.end()
    return this.#state === 'raw' ? '' : this.#held
  }

  #step(char: string): State {
    if (isSpace(char) && BETWEEN.has(this.#state)) return this.#state
    switch (this.#state) {
      case 'open':
        return char === '{' ? 'key' : 'raw'
      case 'key':
        this.#key = char
        return char === '"' ? 'in-key' : 'raw'
      case 'in-key':
        this.#key += char
        return this.#closesString(char) ? 'colon' : 'in-key'
      case 'colon':
        return char === ':' ? 'value' : 'raw'
      case 'value':
        if (isInputKey(this.#key)) return char === '"' ? 'input' : 'raw'
        return this.#skip(char)
      case 'skipped':
        return this.#skip(char)
      case 'input':
      case 'raw':
        return this.#state
      default:
        return this.#state satisfies never
    }
  }

  /** One more character of a value that is not the input. */
  #skip(char: string): State {
    const at = this.#skipped
    if (at.quoted) at.quoted = !this.#closesString(char)
    else if (char === '"') at.quoted = true
    else if (char === '{' || char === '[') at.depth += 1
    else if (at.depth > 0) at.depth -= char === '}' || char === ']' ? 1 : 0
    else if (char === ',') return 'key'
    else if (char === '}') return 'raw'
    return 'skipped'
  }

  /** True for a quote that is not escaped; called with every character of a string. */
  #closesString(char: string): boolean {
    const wasEscaped = this.#escaped
    this.#escaped = !wasEscaped && char === '\\'
    return char === '"' && !wasEscaped
  }
}

/** What the next character belongs to. `input` and `raw` are decided and stay. */
type State = 'open' | 'key' | 'in-key' | 'colon' | 'value' | 'skipped' | 'input' | 'raw'

/** Where white space says nothing. */
const BETWEEN: ReadonlySet<State> = new Set(['open', 'key', 'colon', 'value'])

function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\r' || char === '\t'
}

/** @param key with its quotes, perhaps spelled with escapes. */
function isInputKey(key: string): boolean {
  return key === '"input"' || Object.hasOwn(parseObject(`{${key}:0}`) ?? {}, 'input')
}
