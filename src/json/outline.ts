import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts'

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
 * A JSON object whose long strings were left where they are. In `json` a mark stands for each, and this knows what for.
 * Keys are never cut, nor are the strings of the object's own members but for those that hold a prompt. It is for
 * reading what is short; nothing of it may be passed on.
 */
export class Outline implements Texts {
  readonly json: JsonObject
  readonly #bytes: Buffer
  /** A row for each mark, in the order of their numbers. */
  readonly #cuts: Int32Array

  constructor(json: JsonObject, bytes: Buffer, cuts: Int32Array) {
    this.json = json
    this.#bytes = bytes
    this.#cuts = cuts
  }

  byteLength(text: string): number {
    return isMark(text) ? this.#read(text, LENGTH) : Buffer.byteLength(text)
  }

  whole(text: string): string {
    if (!isMark(text)) return text
    return String(JSON.parse(this.#bytes.toString('utf8', this.#read(text, START), this.#read(text, END))))
  }

  #read(mark: string, column: number): number {
    return this.#cuts[numberOf(mark) * COLUMNS + column] ?? 0
  }
}

/** Longer strings are cut, in bytes as they are spelled. Shorter ones are parsed as fast as they are cut. */
const LONG_BYTES = 256

/**
 * The outline of a document in a fraction of the time that JSON.parse takes; undefined for one that has to be parsed:
 * it is no JSON object, or a member that is no prompt has a long string, or this machine has no vector instructions.
 */
export function readOutline(document: Uint8Array): Outline | undefined {
  const all = Buffer.from(document.buffer, document.byteOffset, document.byteLength)
  const bytes = startsWithBom(all) ? all.subarray(3) : all
  if (!isUtf8(bytes)) return undefined
  const cut = cutterFor(bytes.length)?.cut(bytes)
  if (cut === undefined) return undefined
  const json = parseLeft(cut.text)
  return json === undefined || cutsAway(json) ? undefined : new Outline(json, bytes, cut.table)
}

function parseLeft(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Members that may be one long text. */
const PROMPTS: ReadonlySet<string> = new Set(['input', 'instructions', 'system'])

function cutsAway(json: JsonObject): boolean {
  for (const name in json) if (isMark(json[name]) && !PROMPTS.has(name)) return true
  return false
}

function startsWithBom(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** What every mark begins with: nobody outside can write one. */
const SECRET = randomBytes(12).toString('base64url')

/** The secret, and a number in six letters from `a` to `p`. */
const MARK_LENGTH = SECRET.length + 6

function isMark(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value.length === MARK_LENGTH && value.startsWith(SECRET)
}

function numberOf(mark: string): number {
  let number = 0
  for (let at = SECRET.length; at < MARK_LENGTH; at += 1) number = number * 16 + mark.charCodeAt(at) - 0x61
  return number
}

/** What wasm/cut-strings.ts exports, and its table's columns: where a string starts and ends, its length in UTF-8. */
interface CutterExports {
  memory: WebAssembly.Memory
  TEXT: WebAssembly.Global
  MARK: WebAssembly.Global
  cutStrings(length: number, most: number): number
  cutTable(): number
  cutCount(): number
}
const COLUMNS = 4
const START = 0
const END = 1
const LENGTH = 2

/** The room that the module wants behind a text, and for a row of the table. */
const MARGIN_BYTES = 256
const ROW_BYTES = 16
const PAGE_BYTES = 64 * 1024

/** Memory of a module never shrinks, so that larger texts get one of their own that goes with them. */
const KEPT_BYTES = 4 * 1024 * 1024

class Cutter {
  readonly #exports: CutterExports
  readonly #text: number
  #memory: Buffer

  constructor(module: WebAssembly.Module) {
    this.#exports = cutterExports(new WebAssembly.Instance(module))
    this.#text = Number(this.#exports.TEXT.value)
    this.#memory = this.#reserve(0)
  }

  cut(bytes: Buffer): { text: string; table: Int32Array } | undefined {
    const { cutStrings, cutTable, cutCount } = this.#exports
    const memory = this.#reserve(bytes.length)
    memory.set(bytes, this.#text)
    const length = cutStrings(bytes.length, LONG_BYTES)
    if (length < 0) return undefined
    return {
      text: memory.toString('utf8', this.#text, this.#text + length),
      table: new Int32Array(memory.buffer, cutTable(), cutCount() * COLUMNS).slice(),
    }
  }

  /** The memory, with room for a text of so many bytes and for the table of its cuts. */
  #reserve(bytes: number): Buffer {
    const { memory, MARK } = this.#exports
    const rows = Math.ceil(bytes / LONG_BYTES)
    const lacking = this.#text + bytes + MARGIN_BYTES + rows * ROW_BYTES - memory.buffer.byteLength
    if (lacking > 0) memory.grow(Math.ceil(lacking / PAGE_BYTES))
    if (this.#memory?.buffer !== memory.buffer) {
      this.#memory = Buffer.from(memory.buffer)
      this.#memory.write(SECRET, Number(MARK.value), 'latin1')
    }
    return this.#memory
  }
}

/** Safe: tests compile the module's source, and it exports these. */
function cutterExports(instance: WebAssembly.Instance): CutterExports {
  return instance.exports as unknown as CutterExports
}

const module = compiled()
const keptCutter = module && new Cutter(module)

function cutterFor(bytes: number): Cutter | undefined {
  return module === undefined || bytes <= KEPT_BYTES ? keptCutter : new Cutter(module)
}

/** Undefined where the processor has no vector instructions for it. */
function compiled(): WebAssembly.Module | undefined {
  try {
    return new WebAssembly.Module(readFileSync(new URL('./wasm/cut-strings.wasm', import.meta.url)))
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return undefined
    throw error
  }
}
