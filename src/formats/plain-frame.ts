import { asString, parseJson } from '@/json/json.ts'
import { onePiece } from './one-piece.ts'
import type { JsonPath, PlainShape } from './plain-text.ts'

/** What stands in a place that differs from event to event. */
type Hole = 'text' | 'string' | 'count'

/** A place in the text of an event. */
interface Place {
  start: number
  end: number
}

/** A whole event of one line of data, with or without a name. */
const EVENT = /^((?:event:[^\r\n]*\r?\n)?data: ?)(\{[^\r\n]*\})(?:\r\n\r\n|\n\n)$/

/**
 * What plain events of a stream have in common, to the letter: learned from one of them, so that it holds for any
 * vendor's order of keys, white space and fields of its own.
 */
export class PlainFrame {
  /** Where the text of the last match stands, without its quotes. */
  textStart = 0
  textEnd = 0
  /** Where its usage stands; -1 when the frame has none. */
  usageStart = -1
  usageEnd = -1
  /** True when the text of the last match is spelled otherwise than JSON.stringify spells it. */
  isOdd = false
  /** True when it stands there as it is, in ASCII. */
  isAscii = false
  /** The same of the string that was read last. */
  #wasOdd = false
  #wasAscii = false
  /** One more than there are holes. */
  readonly #fixed: readonly string[]
  readonly #holes: readonly Hole[]
  /** Where each fixed piece of the last match begins. */
  readonly #starts: number[]
  /** The first and last piece that usage is in, and where in them it begins and ends. */
  readonly #usage: { from: number; start: number; to: number; end: number } | undefined

  private constructor(event: string, holes: readonly (Place & { hole: Hole })[], usage: Place | undefined) {
    const edges = [0, ...holes.flatMap(({ start, end }) => [start, end]), event.length]
    const pieces = holes.map((_, index) => ({ start: edges[2 * index] ?? 0, end: edges[2 * index + 1] ?? 0 }))
    pieces.push({ start: edges.at(-2) ?? 0, end: event.length })
    // Copies: a slice would hold all of the read that the event came with.
    this.#fixed = pieces.map(({ start, end }) => onePiece(event.slice(start, end)))
    this.#holes = holes.map(({ hole }) => hole)
    this.#starts = pieces.map(({ start }) => start)
    if (usage !== undefined) {
      const from = pieces.findIndex(({ end }) => usage.start < end)
      const to = pieces.findIndex(({ end }) => usage.end <= end)
      const startOf = (index: number) => pieces[index]?.start ?? 0
      this.#usage = { from, start: usage.start - startOf(from), to, end: usage.end - startOf(to) }
    }
  }

  /**
   * The frame of an event as it came, its empty line included, whose text was decoded as this; undefined when the event
   * is not of the shape, or could be read in two ways.
   */
  static of(event: string, text: string, shape: PlainShape): PlainFrame | undefined {
    const [, head = '', json = ''] = EVENT.exec(event) ?? []
    const values = valuesOf(json)
    if (values === undefined) return undefined
    const textPath = pathText(shape.text)
    const loosePaths = shape.loose.map(pathText)
    const usagePath = shape.usage === undefined ? undefined : pathText(shape.usage)
    const holes: (Place & { hole: Hole })[] = []
    let usage: Place | undefined
    for (const { path, start, end } of values) {
      const place = { start: head.length + start, end: head.length + end }
      const isLoose = loosePaths.includes(path) || (usagePath !== undefined && path.startsWith(usagePath))
      if (path === usagePath && json[start] === '{') usage = place
      if (json[start] === '"' && (path === textPath || loosePaths.includes(path))) {
        const hole = path === textPath ? 'text' : 'string'
        holes.push({ hole, start: place.start + 1, end: place.end - 1 })
      } else if (isLoose && COUNT.test(json.slice(start, end))) holes.push({ hole: 'count', ...place })
    }
    const [found, ...more] = holes.filter(({ hole }) => hole === 'text')
    if (found === undefined || more.length > 0) return undefined
    if (asString(parseJson(event.slice(found.start - 1, found.end + 1))) !== text) return undefined
    const frame = new PlainFrame(event, holes, usage)
    return frame.match(event, 0) === event.length ? frame : undefined
  }

  /** The end of the event of this frame that stands there; -1 when there is none, or none without doubt. */
  match(text: string, at: number): number {
    const fixed = this.#fixed
    const holes = this.#holes
    let end = at
    for (let index = 0; index < holes.length; index += 1) {
      const piece = fixed[index] ?? ''
      if (!text.startsWith(piece, end)) return -1
      this.#starts[index] = end
      end = this.#endOfHole(holes[index], text, end + piece.length)
      if (end < 0) return -1
    }
    const last = fixed[holes.length] ?? ''
    if (!text.startsWith(last, end)) return -1
    this.#starts[holes.length] = end
    const usage = this.#usage
    if (usage !== undefined) {
      this.usageStart = (this.#starts[usage.from] ?? 0) + usage.start
      this.usageEnd = (this.#starts[usage.to] ?? 0) + usage.end
    }
    return end + last.length
  }

  /** Whether what stands there may be the beginning of an event of this frame. */
  begins(text: string, at: number): boolean {
    const first = this.#fixed[0] ?? ''
    return first.startsWith(text.slice(at, at + first.length))
  }

  #endOfHole(hole: Hole | undefined, text: string, start: number): number {
    if (hole === 'count') return endOfCount(text, start)
    const end = this.#endOfString(text, start)
    if (hole === 'string') return this.#wasOdd ? -1 : end
    this.isOdd = this.#wasOdd
    this.isAscii = this.#wasAscii
    this.textStart = start
    this.textEnd = end
    return end === start ? -1 : end
  }

  /** Where the closing quote of the string stands whose inside begins here; -1 when it is no string of JSON. */
  #endOfString(text: string, start: number): number {
    let isOdd = false
    let hasEscapes = false
    let bits = 0
    // A loop: pieces are short, and the call of a native search costs more than looking at each unit.
    for (let at = start; ; at += 1) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) {
        this.#wasOdd = isOdd
        this.#wasAscii = !hasEscapes && bits < FIRST_BEYOND_ASCII
        return at
      }
      if (code === BACKSLASH) {
        at += 1
        const escaped = text[at] ?? ''
        // What follows a u is read when the text is.
        if (escaped === 'u' || escaped === '/') isOdd = true
        else if (!SHORT_ESCAPES.includes(escaped)) return -1
        hasEscapes = true
      } else if (code >= FIRST_OF_STRINGS) bits |= code
      else return -1 // A control character, or the end of the text.
    }
  }
}

const QUOTE = 0x22
const ZERO = 0x30
const NINE = 0x39
const BACKSLASH = 0x5c
/** Control characters are no JSON, and lone surrogates never come of UTF-8: all others stand for themselves. */
const FIRST_OF_STRINGS = 0x20
const FIRST_BEYOND_ASCII = 0x80

/** What JSON.stringify writes behind a backslash, but for `u`. */
const SHORT_ESCAPES = '"\\bfnrt'

const COUNT = /^(?:0|[1-9]\d*)$/

function endOfCount(text: string, start: number): number {
  let end = start
  while (end < text.length && isDigit(text.charCodeAt(end))) end += 1
  const isOne = end === start + 1 || text.charCodeAt(start) !== ZERO
  return end > start && isOne ? end : -1
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}

/** A value somewhere in a JSON text. */
interface Value extends Place {
  path: string
}

/** A path as `valuesOf` writes it: keys with their quotes, so that no two paths are spelled alike. */
function pathText(path: JsonPath): string {
  return path.map(step => JSON.stringify(step)).join('')
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** All values in a text that is JSON, in the order of their ends; undefined when a key is spelled in an odd way. */
function valuesOf(json: string): Value[] | undefined {
  const values: Value[] = []
  const open: { path: string; start: number; isList: boolean; step: string; count: number }[] = []
  let expectsKey = false
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    const inside = open.at(-1)
    const path = inside === undefined ? '' : inside.path + (inside.isList ? inside.count : inside.step)
    if (token === '{' || token === '[') {
      expectsKey = token === '{'
      open.push({ path, start: index, isList: !expectsKey, step: '', count: 0 })
    } else if (token === '}' || token === ']') {
      open.pop()
      expectsKey = false
      if (inside !== undefined) values.push({ path: inside.path, start: inside.start, end: index + 1 })
    } else if (token === ',') {
      if (inside?.isList === true) inside.count += 1
      else expectsKey = true
    } else if (token === ':') expectsKey = false
    else if (expectsKey && inside !== undefined) {
      if (token.includes('\\')) return undefined
      inside.step = token
    } else values.push({ path, start: index, end: index + token.length })
  }
  return values
}
