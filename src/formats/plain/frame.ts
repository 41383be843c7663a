import { asString, parseJson } from '@/json/json.ts'
import {
  type FrameParts,
  type Hole,
  listeningTemplate,
  NOTHING_HELD,
  type PlainTemplate,
  takePlain,
} from './kernel.ts'
import type { JsonPath, PlainShape } from './plain-text.ts'

/** A place in the text of an event. */
interface Place {
  start: number
  end: number
}

/** A whole event of one line of data, with or without a name. */
const EVENT = /^((?:event:[^\r\n]*\r?\n)?data: ?)(\{[^\r\n]*\})(?:\r\n\r\n|\n\n)$/

/** What plain events of a stream have in common, to the letter. */
export interface PlainFrame extends FrameParts {
  /** For reading alone. */
  listening: PlainTemplate
}

/** Whether an event is of this frame. */
export function fits(frame: PlainFrame, event: string): boolean {
  const bytes = Buffer.from(event)
  return takePlain(frame.listening, bytes, 0, 0, NOTHING_HELD).end === bytes.length
}

/** Whether an event is of this frame and says this text. */
export function says(frame: PlainFrame, event: Uint8Array, text: string): boolean {
  const run = takePlain(frame.listening, event, 0, 0, NOTHING_HELD)
  return run.end === event.length && run.text === text
}

/**
 * The frame of an event as it came, its empty line included, whose text was decoded as this; undefined when the event
 * is not of the shape, or could be read in two ways. Learned from one event, so that it holds for any vendor's order of
 * keys, white space and fields of its own.
 */
export function learnFrame(event: string, text: string, shape: PlainShape): PlainFrame | undefined {
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
  const parts = partsOf(event, holes, usage)
  const listening = listeningTemplate(parts)
  const frame = listening && { ...parts, listening }
  return frame !== undefined && fits(frame, event) ? frame : undefined
}

function partsOf(
  event: string,
  holes: readonly (Place & { hole: Hole })[],
  usage: Place | undefined,
): FrameParts {
  const edges = [0, ...holes.flatMap(({ start, end }) => [start, end]), event.length]
  const places = Array.from({ length: holes.length + 1 }, (_, index) => ({
    start: edges[2 * index] ?? 0,
    end: edges[2 * index + 1] ?? 0,
  }))
  return {
    pieces: places.map(({ start, end }) => Buffer.from(event.slice(start, end))),
    holes: holes.map(({ hole }) => hole),
    usage: usage && usageIn(event, places, usage),
  }
}

/** Where in the pieces a usage begins and ends, in bytes. */
function usageIn(event: string, places: readonly Place[], usage: Place): FrameParts['usage'] {
  const from = places.findIndex(({ end }) => usage.start < end)
  const to = places.findIndex(({ end }) => usage.end <= end)
  const within = (index: number, at: number) => Buffer.byteLength(event.slice(places[index]?.start ?? 0, at))
  return { from, start: within(from, usage.start), to, end: within(to, usage.end) }
}

const COUNT = /^(?:0|[1-9]\d*)$/

/** A value somewhere in a JSON text. */
interface Value extends Place {
  path: string
}

/** A path as `valuesOf` writes it: keys with their quotes, so that no two paths are spelled alike. */
function pathText(path: JsonPath): string {
  return path.map(step => JSON.stringify(step)).join('')
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** An object or a list whose end was not seen yet. */
interface OpenValue {
  path: string
  start: number
  isList: boolean
  /** The key that came last, in an object. */
  step: string
  /** How many values came to an end, in a list. */
  count: number
}

/** The path of the value that comes next in an open one. */
function pathWithin({ path, isList, step, count }: OpenValue): string {
  return path + (isList ? count : step)
}

/** All values in a text that is JSON, in the order of their ends; undefined when a key is spelled in an odd way. */
function valuesOf(json: string): Value[] | undefined {
  const values: Value[] = []
  const open: OpenValue[] = []
  let expectsKey = false
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    const inside = open.at(-1)
    const path = inside === undefined ? '' : pathWithin(inside)
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
