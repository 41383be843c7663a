import { asArray, asObject, asString, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/** Deepest path and largest index of an argument; beyond lies no real tool. */
const MAX_STEPS = 64
const MAX_INDEX = 100_000

/**
 * Puts streamed arguments together (Vertex' `partialArgs`): each names a JSON path and a piece of its value.
 * A string whose piece said `willContinue` takes the next piece of the same path at its end.
 */
export class PartialArgs {
  readonly #args: JsonObject = {}
  #continued = ''

  push(partialArgs: JsonValue | undefined): void {
    for (const value of asArray(partialArgs)) {
      const piece = asObject(value) ?? {}
      const path = asString(piece['jsonPath']) ?? ''
      const steps = parsePath(path)
      const leaf = leafOf(piece)
      if (steps.length === 0 || leaf === undefined) continue
      const appends = this.#continued === path && typeof leaf === 'string'
      setAt(this.#args, steps, leaf, appends)
      this.#continued = piece['willContinue'] === true ? path : ''
    }
  }

  /** Arguments that came whole, beside or instead of pieces. */
  merge(args: JsonObject): void {
    for (const [key, value] of Object.entries(args)) define(this.#args, key, value)
  }

  text(): string {
    return JSON.stringify(this.#args)
  }
}

function leafOf(piece: JsonObject): JsonValue | undefined {
  if (piece['nullValue'] !== undefined) return null
  return piece['stringValue'] ?? piece['numberValue'] ?? piece['boolValue']
}

type Step = string | number

/** `$.a.b[0]['c d']` as its steps; empty for what is no path. */
function parsePath(path: string): Step[] {
  const steps: Step[] = []
  const pattern = /\.([^.[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/gy
  pattern.lastIndex = path.startsWith('$') ? 1 : 0
  const source = path.startsWith('$') || path.startsWith('[') ? path : `.${path}`
  for (const [, name, index, single, double] of source.matchAll(pattern)) {
    const quoted = single ?? double
    steps.push(index === undefined ? (name ?? (quoted ?? '').replace(/\\(.)/g, '$1')) : Number(index))
  }
  const tooFar = steps.some(step => typeof step === 'number' && step > MAX_INDEX)
  return steps.length > MAX_STEPS || tooFar ? [] : steps
}

function setAt(root: JsonObject, steps: readonly Step[], leaf: JsonValue, appends: boolean): void {
  let here: JsonValue = root
  for (const [index, step] of steps.entries()) {
    const known = get(here, step)
    const next = steps[index + 1]
    if (next === undefined) {
      const value = appends && typeof known === 'string' && typeof leaf === 'string' ? known + leaf : leaf
      set(here, step, value)
      return
    }
    const fits = typeof next === 'number' ? Array.isArray(known) : isJsonObject(known)
    const inner: JsonValue = fits && known !== undefined ? known : typeof next === 'number' ? [] : {}
    if (inner !== known) set(here, step, inner)
    here = inner
  }
}

function get(here: JsonValue, step: Step): JsonValue | undefined {
  if (Array.isArray(here)) return typeof step === 'number' ? here[step] : undefined
  return isJsonObject(here) && Object.hasOwn(here, String(step)) ? here[String(step)] : undefined
}

function set(here: JsonValue, step: Step, value: JsonValue): void {
  if (Array.isArray(here) && typeof step === 'number') {
    while (here.length < step) here.push(null)
    here[step] = value
  } else if (isJsonObject(here)) {
    define(here, String(step), value)
  }
}

/** Defines the key even where an assignment would call a setter (`__proto__`). */
function define(object: JsonObject, key: string, value: JsonValue | undefined): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
}
