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
  const values = valuesOf(json, head.length)
  if (values === undefined) return undefined
  const holes = holesIn(event, values, shape)
  const usagePath = shape.usage && pathText(shape.usage)
  const usage = values.findLast(({ path, start }) => path === usagePath && event[start] === '{')
  const [found, ...more] = holes.filter(({ hole }) => hole === 'text')
  if (found === undefined || more.length > 0) return undefined
  if (asString(parseJson(event.slice(found.start - 1, found.end + 1))) !== text) return undefined
  const parts = partsOf(event, holes, usage)
  const listening = listeningTemplate(parts)
  const frame = listening && { ...parts, listening }
  return frame !== undefined && fits(frame, event) ? frame : undefined
}

/** What may differ from event to event. */
function holesIn(event: string, values: readonly Value[], shape: PlainShape): HoleIn[] {
  const textPath = pathText(shape.text)
  const loosePaths = shape.loose.map(pathText)
  const usagePath = shape.usage && pathText(shape.usage)
  return values.flatMap(({ path, start, end }): HoleIn[] => {
    const isNamed = loosePaths.includes(path)
    if (event[start] === '"' && (path === textPath || isNamed))
      return [{ hole: path === textPath ? 'text' : 'string', start: start + 1, end: end - 1 }]
    const isLoose = isNamed || (usagePath !== undefined && path.startsWith(usagePath))
    return isLoose && COUNT.test(event.slice(start, end)) ? [{ hole: 'count', start, end }] : []
  })
}

function partsOf(event: string, holes: readonly HoleIn[], usage: Place | undefined): FrameParts {
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

/** A hole of an event. */
interface HoleIn extends Place {
  hole: Hole
}

/** A value of an event's JSON. */
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

/** All values of an event whose JSON stands behind so many characters, in the order of their ends; undefined when a key is spelled in an odd way. */
function valuesOf(json: string, offset: number): Value[] | undefined {
  const values: Value[] = []
  const open: OpenValue[] = []
  let expectsKey = false
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    const inside = open.at(-1)
    const path = inside === undefined ? '' : pathWithin(inside)
    const start = offset + index
    switch (token) {
      case '{':
      case '[':
        expectsKey = token === '{'
        open.push({ path, start, isList: !expectsKey, step: '', count: 0 })
        break
      case '}':
      case ']':
        open.pop()
        expectsKey = false
        if (inside !== undefined) values.push({ path: inside.path, start: inside.start, end: start + 1 })
        break
      case ',':
        if (inside?.isList === true) inside.count += 1
        else expectsKey = true
        break
      case ':':
        expectsKey = false
        break
      default:
        if (!expectsKey || inside === undefined) values.push({ path, start, end: start + token.length })
        else if (token.includes('\\')) return undefined
        else inside.step = token
    }
  }
  return values
}
