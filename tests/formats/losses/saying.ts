import fc from 'fast-check'
import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/** A value that a caller chose, and what they might have said instead. */
class Choice {
  readonly value: JsonValue
  readonly others: readonly JsonValue[]

  constructor(value: JsonValue, others: readonly JsonValue[]) {
    this.value = value
    this.others = others
  }
}

/** Something that a caller might have left out. */
class Addition {
  readonly value: Said

  constructor(value: Said) {
    this.value = value
  }
}

/** A request of which it is known what in it was the caller's to choose. */
export type Said =
  | Choice
  | Addition
  | JsonValue
  | undefined
  | readonly Said[]
  | { readonly [key: string]: Said }

/** What makes up requests. */
export type Saying = fc.Arbitrary<Said>

/** One of these values. */
export function oneOf(...values: readonly JsonValue[]): Saying {
  return fc.constantFrom(...values).map(value => {
    const others = values.filter(other => other !== value)
    return new Choice(value, others)
  })
}

/** Any text. */
export function text(about: string): Saying {
  return oneOf(about, `another ${about}`)
}

/** An object with all of the first fields and some of the others. */
export function object(
  required: Readonly<Record<string, Saying | JsonValue>>,
  added: Readonly<Record<string, Saying>> = {},
): Saying {
  const fields: Record<string, Saying> = {}
  for (const [name, value] of Object.entries(required)) fields[name] = saying(value)
  for (const [name, value] of Object.entries(added)) fields[name] = maybe(value)
  return fc.record(fields)
}

/** A list of all of these. */
export function list(...items: readonly (Saying | JsonValue)[]): Saying {
  return fc.tuple(...items.map(saying))
}

/** A list of the first and some of the others. */
export function several(first: Saying, ...others: readonly Saying[]): Saying {
  return list(first, ...others.map(maybe))
}

function maybe(value: Saying): Saying {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    value.map(said => new Addition(said)),
  )
}

function saying(value: Saying | JsonValue): Saying {
  return value instanceof fc.Arbitrary ? value : fc.constant(value)
}

/** Something of a request that may be otherwise. */
export interface Variable {
  /** The names on the way to it, with the `type` of each object that has one before the names in it. */
  path: readonly string[]
  value: JsonValue
  /** The request with each of the other values in its place, or without it. */
  otherwise: readonly JsonObject[]
  /** True where it could be left out, and what is in it could be otherwise as well. */
  isAround: boolean
}

/** All that may be otherwise in a request. */
export function variablesOf(request: Said): Variable[] {
  return choicesIn(request, []).map(({ path, said }) => {
    const others = said instanceof Choice ? said.others : [undefined]
    return {
      path,
      value: wire(said) ?? null,
      otherwise: others.map(other => bodyOf(request, { said, other })),
      isAround: said instanceof Addition && choicesIn(said.value, []).length > 0,
    }
  })
}

function choicesIn(
  said: Said,
  path: readonly string[],
): { path: readonly string[]; said: Choice | Addition }[] {
  if (said instanceof Choice) return said.others.length === 0 ? [] : [{ path, said }]
  if (said instanceof Addition) return [{ path, said }, ...choicesIn(said.value, path)]
  if (isList(said)) return said.flatMap(item => choicesIn(item, path))
  if (typeof said !== 'object' || said === null) return []
  const type = typeof said['type'] === 'string' ? [said['type']] : []
  return Object.entries(said).flatMap(([name, inner]) => choicesIn(inner, [...path, ...type, name]))
}

/** The request as it is sent. */
export function bodyOf(request: Said, swap?: Swap): JsonObject {
  const body = wire(request, swap)
  return isJsonObject(body) ? body : {}
}

/** One thing that is said otherwise. */
interface Swap {
  said: Choice | Addition
  other: JsonValue | undefined
}

function wire(said: Said, swap?: Swap): JsonValue | undefined {
  if (said === swap?.said) return swap?.other
  if (said instanceof Choice) return said.value
  if (said instanceof Addition) return wire(said.value, swap)
  if (isList(said)) return said.map(item => wire(item, swap)).filter(item => item !== undefined)
  if (typeof said !== 'object' || said === null) return said
  const fields = Object.entries(said).map(([name, inner]) => [name, wire(inner, swap)] as const)
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

/** Array.isArray does not know read-only lists. */
function isList(said: Said): said is readonly Said[] {
  return Array.isArray(said)
}
