import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Edited, patchInPlace } from './in-place.ts'
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'
import { holdsUp } from './parts.ts'
import { findRepeats, type Single } from './repeats.ts'
import { startsWithBom } from './scan.ts'
import { applyPatches, findPatches, type JsonEdit, type Patch } from './splice.ts'

/** The texts of a document, some of which may stand for longer ones that nobody has made yet. */
export interface Texts {
  /** The length in UTF-8; half a surrogate pair counts as the three bytes that are written in its place. */
  byteLength(text: string): number
  /** The text itself. */
  whole(text: string): string
}

/** Texts that are what they seem. */
export const PLAIN_TEXTS: Texts = { byteLength: text => Buffer.byteLength(text), whole: text => text }

/**
 * A JSON object whose long strings were left where they are. In `json` a placeholder stands for each, and this
 * knows what for.
 * Keys are never cut, nor are the strings of the object's own members but for those that hold a prompt. It is for
 * reading what is short; nothing of it may be passed on.
 */
export class Outline implements Texts {
  readonly json: JsonObject
  readonly #bytes: Buffer
  /** The document with placeholders for its long strings. */
  readonly #left: Buffer
  /** A row for each placeholder, in the order of their numbers. */
  readonly #cuts: Int32Array

  constructor(json: JsonObject, bytes: Buffer, { left, cuts }: Cut) {
    this.json = json
    this.#bytes = bytes
    this.#left = left
    this.#cuts = cuts
  }

  byteLength(text: string): number {
    return isPlaceholder(text) ? this.#read(numberOf(text), LENGTH) : Buffer.byteLength(text)
  }

  whole(text: string): string {
    if (!isPlaceholder(text)) return text
    const number = numberOf(text)
    return String(
      JSON.parse(this.#bytes.toString('utf8', this.#read(number, START), this.#read(number, END))),
    )
  }

  /** Whether a text stands somewhere outside of the long strings, or one of those begins with it, spelled like this. */
  mentions(text: Buffer): boolean {
    if (this.#left.includes(text)) return true
    for (let row = 0; row < this.#cuts.length; row += COLUMNS) {
      if (startsWith(this.#bytes, (this.#cuts[row + START] ?? 0) + 1, text)) return true
    }
    return false
  }

  /** As `findRepeats` has them of the document. */
  findRepeats(single: Single): Patch[] {
    return this.#moved(findRepeats(this.#left, this.json, single))
  }

  /**
   * What `spliceJson` makes of the document, whose long strings it need not look at. Where it can it writes to the
   * document's own memory, though not where a long string is.
   */
  edit(edits: readonly JsonEdit[]): Edited {
    const patches = this.#moved(findPatches(this.#left, edits, this.json))
    if (patches.length === 0) return { bytes: this.#bytes, undo: undefined }
    const middle = { start: this.#cuts[START] ?? 0, end: this.#cuts.at(END - COLUMNS) ?? this.#bytes.length }
    return (
      patchInPlace(this.#bytes, patches, middle) ?? {
        bytes: applyPatches(this.#bytes, patches),
        undo: undefined,
      }
    )
  }

  /** Patches of what is left, as they are for the document: moved by what was cut before them. */
  #moved(patches: readonly Patch[]): Patch[] {
    let row = 0
    let cut = 0
    const moved = (place: number) => {
      for (; row < this.#cuts.length && (this.#cuts[row + START] ?? 0) < place + cut; row += COLUMNS) {
        cut += (this.#cuts[row + END] ?? 0) - (this.#cuts[row + START] ?? 0) - SPELLED_LENGTH
      }
      return place + cut
    }
    return patches.map(({ start, end, text }) => ({ start: moved(start), end: moved(end), text }))
  }

  #read(number: number, column: number): number {
    return this.#cuts[number * COLUMNS + column] ?? 0
  }
}

/** Longer strings are cut, in bytes as they are spelled. Shorter ones are parsed as fast as they are cut. */
const LONG_BYTES = 256

/**
 * The outline of a document in a fraction of the time that JSON.parse takes; undefined for one that has to be parsed:
 * it is no JSON object, or too much of one, or a member that is no prompt has a long string, or this machine has no vector
 * instructions.
 */
export function readOutline(document: Uint8Array): Outline | undefined {
  const bytes = Buffer.from(document.buffer, document.byteOffset, document.byteLength)
  const cut = cutter?.cut(bytes)
  // Where no long string has anything but ASCII, what is left tells of the whole.
  if (cut === undefined || !isUtf8(cut.isWide ? bytes : cut.left)) return undefined
  const json = parseLeft(cut.left)
  return json === undefined || cutsAway(json) ? undefined : new Outline(json, bytes, cut)
}

function parseLeft(left: Buffer): JsonObject | undefined {
  if (holdsUp(left)) return undefined
  try {
    const value: unknown = JSON.parse(left.toString('utf8', startsWithBom(left) ? 3 : 0))
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Members that may be one long text. */
const PROMPTS: ReadonlySet<string> = new Set(['input', 'instructions', 'system'])

function cutsAway(json: JsonObject): boolean {
  for (const name in json) if (isPlaceholder(json[name]) && !PROMPTS.has(name)) return true
  return false
}

function startsWith(bytes: Buffer, at: number, text: Buffer): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (bytes[at + index] !== text[index]) return false
  }
  return true
}

/** What every placeholder begins with: nobody outside can write one. */
const SECRET = randomBytes(12).toString('base64url')

/** The secret, and a number in six letters from `a` to `p`. */
const PLACEHOLDER_LENGTH = SECRET.length + 6

/** A placeholder in its quotes. */
const SPELLED_LENGTH = PLACEHOLDER_LENGTH + 2

function isPlaceholder(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value.length === PLACEHOLDER_LENGTH && value.startsWith(SECRET)
}

function numberOf(placeholder: string): number {
  let number = 0
  for (let at = SECRET.length; at < PLACEHOLDER_LENGTH; at += 1)
    number = number * 16 + placeholder.charCodeAt(at) - 0x61
  return number
}

/** What wasm/cut-strings.ts exports; there it says what each is. */
interface CutterExports {
  memory: WebAssembly.Memory
  PLACEHOLDER: WebAssembly.Global
  TEXT: WebAssembly.Global
  WINDOW: WebAssembly.Global
  LEFT: WebAssembly.Global
  ROWS: WebAssembly.Global
  begin(): void
  take(length: number, most: number, isLast: boolean): number
  leftBytes(): number
  rows(): number
  keys(): number
  isWide(): number
}

/** The columns of its table: where a string starts and ends, its length in UTF-8. */
const COLUMNS = 3
const START = 0
const END = 1
const LENGTH = 2

/** A document without its long strings. */
interface Cut {
  left: Buffer
  cuts: Int32Array
  /** Whether a long string may have what is no ASCII. */
  isWide: boolean
}

/** The module has a window for a piece of a document, so that its memory is small and stays in the processor's caches. */
class Cutter {
  readonly #exports: CutterExports
  readonly #memory: Buffer
  readonly #text: number
  readonly #window: number
  readonly #left: number
  readonly #rows: number

  constructor(module: WebAssembly.Module) {
    this.#exports = cutterExports(new WebAssembly.Instance(module))
    const { memory, PLACEHOLDER, TEXT, WINDOW, LEFT, ROWS } = this.#exports
    this.#memory = Buffer.from(memory.buffer)
    this.#memory.write(SECRET, Number(PLACEHOLDER.value), 'latin1')
    this.#text = Number(TEXT.value)
    this.#window = Number(WINDOW.value)
    this.#left = Number(LEFT.value)
    this.#rows = Number(ROWS.value)
  }

  /** Undefined where a string is not as JSON has it. */
  cut(bytes: Buffer): Cut | undefined {
    const { begin, take, isWide } = this.#exports
    const left: Buffer[] = []
    const cuts: Int32Array[] = []
    begin()
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + this.#window)
      this.#memory.set(piece, this.#text)
      const done = take(piece.length, LONG_BYTES, at + piece.length === bytes.length)
      if (done < 0) return undefined
      this.#collect(bytes, left, cuts)
      at += done
    }
    return { left: Buffer.concat(left), cuts: joined(cuts), isWide: isWide() !== 0 }
  }

  /** Takes out what the module has left of a piece, and a long key that began in one before. */
  #collect(bytes: Buffer, left: Buffer[], cuts: Int32Array[]): void {
    const { leftBytes, rows, keys } = this.#exports
    const length = leftBytes()
    if (length > 0) left.push(Buffer.from(this.#memory.subarray(this.#left, this.#left + length)))
    const count = rows()
    if (count > 0) cuts.push(this.#table(count).slice())
    if (keys() === 0) return
    const [start, end] = this.#table(1)
    left.push(bytes.subarray(start, end))
  }

  #table(rows: number): Int32Array {
    return new Int32Array(this.#memory.buffer, this.#rows, rows * COLUMNS)
  }
}

function joined(tables: readonly Int32Array[]): Int32Array {
  const [first = new Int32Array(0)] = tables
  if (tables.length <= 1) return first
  const all = new Int32Array(tables.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const table of tables) {
    all.set(table, at)
    at += table.length
  }
  return all
}

/** Safe: tests compile the module's source, and it exports these. */
function cutterExports(instance: WebAssembly.Instance): CutterExports {
  return instance.exports as unknown as CutterExports
}

const cutter = loaded()

/** Undefined where the processor has no vector instructions for it. */
function loaded(): Cutter | undefined {
  try {
    const code = readFileSync(new URL('./wasm/cut-strings.wasm', import.meta.url))
    return new Cutter(new WebAssembly.Module(code))
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return undefined
    throw error
  }
}
