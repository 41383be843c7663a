import {
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLError,
  type YAMLMap,
} from 'yaml'
import type { JsonObject, JsonValue } from '@/json/json.ts'

/** Something wrong with a file, and where. */
export interface Issue {
  /** From 1. */
  line: number
  /** As in `models[2].channels[0].channel`; empty for the file as a whole. */
  path: string
  message: string
}

/** Where a value stands in the file. */
interface Place {
  line: number
  path: string
  /** A number as it is written, because a float could not keep it; undefined for everything else. */
  number: string | undefined
  /** A scalar as it is written, before variables were put in, so that an error line can show it. */
  written: string | undefined
}

/** What a file says, where each value stands in it, and what is wrong with it as YAML. */
export interface YamlFile {
  value: JsonValue
  /** By JSON pointer; the root is ''. */
  places: ReadonlyMap<string, Place>
  issues: readonly Issue[]
}

/** What stands for a string of the file, or why it cannot stand. */
export type Substitute = (text: string) => { text: string } | { wrong: string }

/** Deeper than any lawful file; stops one that contains itself through an alias. */
const MAX_DEPTH = 24
/** More than any lawful file repeats; stops one that multiplies itself through aliases. */
const MAX_REPEATED = 200_000

/** The values of a YAML file with the place of each; every string value passes through `substitute`. */
export function readYaml(source: string, substitute: Substitute): YamlFile {
  const lines = new LineCounter()
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  const issues = [...document.errors, ...document.warnings].map(error => ({
    line: lines.linePos(error.pos[0]).line,
    path: '',
    message: complaint(error),
  }))
  const walk = new Walk(lines, substitute)
  const value =
    walk.value(document.contents, { pointer: '', path: '', depth: 0, line: 1, isRepeated: false }) ?? {}
  return { value, places: walk.places, issues: [...issues, ...walk.issues] }
}

/** Never shows what the library quotes of the file: it may be a part of a key or a password. */
function complaint({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') return 'holds more than one document: leave out the line ---'
  return `is not YAML: ${HINTS[code] ?? message.replace(/(?<=\w): .*$/s, '')}`
}

const INDENTATION = 'this line or the next is not indented as those around it'

/** For those whose own words help nobody, or that quote within them. */
const HINTS: Partial<Record<ErrorCode, string>> = {
  BAD_DQ_ESCAPE: 'a backslash between double quotes that means nothing there: put single quotes around it',
  BLOCK_AS_IMPLICIT_KEY: INDENTATION,
  MULTILINE_IMPLICIT_KEY: INDENTATION,
  TAG_RESOLVE_FAILED: 'a text that begins with ! needs quotes',
}

/** The JSON pointer of a member. */
export function child(pointer: string, key: string | number): string {
  return `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** The path of a member as a person reads it. */
export function childPath(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`
  if (!/^[A-Za-z_][\w-]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`
  return path === '' ? key : `${path}.${key}`
}

interface Position {
  pointer: string
  path: string
  depth: number
  line: number
  /** Whether an alias led here. */
  isRepeated: boolean
}

class Walk {
  readonly places = new Map<string, Place>()
  readonly issues: Issue[] = []
  /** Those that stand before what is being read. The library's own `resolve` walks through the document for each alias. */
  readonly #anchors = new Map<string, unknown>()
  readonly #lines: LineCounter
  readonly #substitute: Substitute
  #repeated = 0

  constructor(lines: LineCounter, substitute: Substitute) {
    this.#lines = lines
    this.#substitute = substitute
  }

  value(node: unknown, at: Position): JsonValue {
    this.#noteAnchor(node, at)
    this.places.set(at.pointer, { line: at.line, path: at.path, ...asWritten(node) })
    if (at.depth > MAX_DEPTH) return this.#wrong(at, 'is nested too deeply')
    if (at.isRepeated && this.#repeated++ >= MAX_REPEATED) {
      return this.#repeated > MAX_REPEATED + 1 ? null : this.#wrong(at, 'is repeated too often by aliases')
    }
    if (isAlias(node)) {
      const target = this.#anchors.get(node.source)
      if (target === undefined) {
        return this.#wrong(at, 'names no anchor that is there before: a text that begins with * needs quotes')
      }
      return this.value(target, { ...at, depth: at.depth + 1, isRepeated: true })
    }
    if (isMap(node)) return this.#map(node, at)
    if (isSeq(node)) {
      return node.items.map((item, index) => this.value(item, this.#below(at, index, this.#line(item, at))))
    }
    return isScalar(node) ? this.#scalar(node.value, at) : null
  }

  #noteAnchor(node: unknown, at: Position): void {
    if (!(isMap(node) || isSeq(node) || isScalar(node))) return
    if (node.anchor !== undefined && !at.isRepeated) this.#anchors.set(node.anchor, node)
  }

  #map(map: YAMLMap, at: Position): JsonObject {
    const entries = new Map<string, JsonValue>()
    for (const pair of map.items) {
      const key = isScalar(pair.key) ? (pair.key.source ?? String(pair.key.value)) : undefined
      const line = this.#line(pair.key, at)
      this.#noteAnchor(pair.key, at)
      if (key === undefined) {
        this.#wrong({ ...at, line }, 'has a key that is no plain word')
        continue
      }
      const below = this.#below(at, key, line)
      if (entries.has(key)) this.#wrong(below, 'is given twice')
      else entries.set(key, this.value(pair.value, below))
    }
    return Object.fromEntries(entries)
  }

  #scalar(value: unknown, at: Position): JsonValue {
    if (typeof value === 'string') {
      const result = this.#substitute(value)
      if ('text' in result) return result.text
      this.#wrong(at, result.wrong)
      return value // as it is written, so that what follows from it can be checked all the same
    }
    return typeof value === 'number' || typeof value === 'boolean' ? value : null
  }

  #below(at: Position, key: string | number, line: number): Position {
    const { pointer, path, depth, isRepeated } = at
    return { pointer: child(pointer, key), path: childPath(path, key), depth: depth + 1, line, isRepeated }
  }

  #line(node: unknown, fallback: Position): number {
    const start = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined
    return start === undefined ? fallback.line : this.#lines.linePos(start).line
  }

  /** Null stands for a value that could not be read. */
  #wrong({ line, path }: Position, message: string): null {
    this.issues.push({ line, path, message })
    return null
  }
}

function asWritten(node: unknown): Pick<Place, 'number' | 'written'> {
  const written = isScalar(node) ? (node.source ?? '') : undefined
  return { written, number: isScalar(node) && typeof node.value === 'number' ? written : undefined }
}
