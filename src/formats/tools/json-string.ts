import { endsInHalfPair } from '@/formats/surrogates.ts'

/**
 * Decodes the inside of a JSON string that arrives in pieces, cut anywhere. What it gives is never cut inside a
 * surrogate pair. Lenient where models are: a raw control character and an unknown escape stand for themselves.
 */
export class JsonStringDecoder {
  /** An escape of which the end is still to come, from its backslash on. */
  #escape = ''
  /** A high surrogate that waits for its other half. */
  #high = ''
  /** True once the closing quote was read; whatever comes after it is ignored. */
  #closed = false

  push(piece: string): string {
    let out = this.#high
    let at = 0
    while (at < piece.length && !this.#closed) {
      if (this.#escape !== '') {
        this.#escape += piece[at]
        at += 1
        out += this.#unescape()
        continue
      }
      const next = nextSpecial(piece, at)
      out += piece.slice(at, next)
      if (piece[next] === '"') this.#closed = true
      else if (piece[next] === '\\') this.#escape = '\\'
      at = next + 1
    }
    this.#high = !this.#closed && endsInHalfPair(out) ? out.slice(-1) : ''
    return this.#high === '' ? out : out.slice(0, -1)
  }

  /** What was held back for a second half that never came. */
  end(): string {
    const held = this.#high
    this.#high = ''
    return held
  }

  /** The character that the escape stands for, or nothing while it is incomplete. */
  #unescape(): string {
    const letter = this.#escape[1] ?? ''
    if (letter === 'u' && this.#escape.length < 6) return ''
    const digits = this.#escape.slice(2)
    this.#escape = ''
    if (letter !== 'u') return ESCAPES[letter] ?? letter
    return /^[0-9a-fA-F]{4}$/.test(digits) ? String.fromCharCode(Number.parseInt(digits, 16)) : `u${digits}`
  }
}

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** Where the next quote or backslash is; the end when there is none. */
function nextSpecial(text: string, from: number): number {
  let at = from
  while (at < text.length && text[at] !== '"' && text[at] !== '\\') at += 1
  return at
}
