import { asString, parseJson } from '@/json/json.ts'
import type { PlainText } from './plain-text.ts'

/** The text of plain events since it was last cleared. */
export class PlainSaid implements PlainText {
  /** As JSON.stringify writes it. */
  #escaped = ''
  /** True when nothing of it is escaped, and all of it ASCII. */
  #isAscii = true
  #text: string | undefined

  get isEmpty(): boolean {
    return this.#escaped === ''
  }

  get length(): number {
    return this.#isAscii ? this.#escaped.length : this.text.length
  }

  get bytes(): number {
    return this.#isAscii ? this.#escaped.length : Buffer.byteLength(this.text)
  }

  get text(): string {
    this.#text ??= asString(parseJson(`"${this.#escaped}"`)) ?? ''
    return this.#text
  }

  /** @param isAscii nothing of it is escaped, and all of it ASCII */
  add(escaped: string, isAscii: boolean): void {
    this.#escaped += escaped
    if (!isAscii) this.#isAscii = false
  }

  clear(): void {
    this.#escaped = ''
    this.#isAscii = true
    this.#text = undefined
  }
}
