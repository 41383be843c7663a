import type { PlainRun } from './kernel.ts'

const FIRST_CAPACITY = 256

/** From here on the text should be told, so that little of an answer is kept twice. */
const MUCH = 16 * 1024

/** The text that plain events said, in UTF-8, until it is told. */
export class SaidText {
  /** The first `#length` bytes of a buffer that doubles. */
  #buffer = Buffer.allocUnsafeSlow(FIRST_CAPACITY)
  #length = 0

  get isMuch(): boolean {
    return this.#length >= MUCH
  }

  add(run: PlainRun): void {
    const length = this.#length + run.bytes
    if (length > this.#buffer.length) this.#grow(length)
    run.copyText(this.#buffer, this.#length)
    this.#length = length
  }

  /** Gives it away. */
  take(): string {
    const text = this.#buffer.toString('utf8', 0, this.#length)
    this.#length = 0
    return text
  }

  #grow(length: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, length))
    this.#buffer.copy(grown, 0, 0, this.#length)
    this.#buffer = grown
  }
}
