import type { PlainRun } from './plain-kernel.ts'
import { NO_NOTE, type PlainNote } from './plain-text.ts'

const FIRST_CAPACITY = 256

/** How much text is kept before it is told. */
const MAX_KEPT = 16 * 1024

const NOTHING = Buffer.alloc(0)

/** What plain events said, until it is told to who takes note of it: once for many of them. */
export class SaidText {
  #reader: PlainNote = NO_NOTE
  #writer: PlainNote = NO_NOTE
  #isTextKept = false
  /** In UTF-16 units. */
  #length = 0
  /** The text in UTF-8, if somebody wants it: the first `#bytes` of a buffer that doubles. */
  #text = NOTHING
  #bytes = 0

  /** From here on these two take note. */
  begin(reader: PlainNote, writer: PlainNote): void {
    this.#reader = reader
    this.#writer = writer
    this.#isTextKept = reader.of === 'text' || writer.of === 'text'
  }

  add(run: PlainRun): void {
    if (this.#isTextKept) this.#keep(run)
    this.#length += run.length
  }

  /** Tells it; false when there is nothing to tell. */
  tell(): boolean {
    if (this.#length === 0) return false
    const text = this.#isTextKept ? this.#text.toString('utf8', 0, this.#bytes) : ''
    for (const note of [this.#reader, this.#writer]) {
      if (note.of === 'text') note.add(text)
      else if (note.of === 'length') note.add(this.#length)
    }
    this.#length = 0
    this.#bytes = 0
    return true
  }

  #keep(run: PlainRun): void {
    const bytes = this.#bytes + run.bytes
    if (bytes > this.#text.length) {
      if (bytes > MAX_KEPT && this.#bytes > 0) {
        this.tell()
        return this.#keep(run)
      }
      const grown = Buffer.allocUnsafeSlow(Math.max(FIRST_CAPACITY, this.#text.length * 2, bytes))
      this.#text.copy(grown, 0, 0, this.#bytes)
      this.#text = grown
    }
    run.copyText(this.#text, this.#bytes)
    this.#bytes += run.bytes
  }
}
