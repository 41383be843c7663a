import {
  asArray,
  asNumber,
  asObject,
  asObjects,
  asString,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'

/** Deep enough for real schemas, shallow enough to end a recursive one. */
const DEEPEST = 12
/** More steps, and more items or characters of one value, than any schema needs that is meant: asking for them costs nothing. */
const MOST = 10_000
/** So much of what a schema writes out itself is one step more. */
const CHARACTERS_OF_A_STEP = 1000

interface Walk {
  readonly root: JsonObject
  steps: number
}

/**
 * The smallest value that fits a JSON Schema (types may be in capitals, as Gemini writes them): required properties only,
 * the first of every choice (deep down null, where that is one), the lowest number allowed. Patterns are not solved.
 */
export function smallestInstance(schema: JsonValue | undefined): JsonValue {
  return instanceOf(schema, { root: asObject(schema) ?? {}, steps: 0 }, 0)
}

function instanceOf(value: JsonValue | undefined, walk: Walk, depth: number): JsonValue {
  if (!isJsonObject(value) || depth > DEEPEST || walk.steps > MOST) return null
  const schema = resolve(value, walk)
  const named = asArray(schema['enum'])[0] ?? schema['default'] ?? asArray(schema['examples'])[0]
  const fixed = schema['const'] === undefined ? named : schema['const']
  if (fixed !== undefined) {
    walk.steps += JSON.stringify(fixed).length / CHARACTERS_OF_A_STEP
    return fixed
  }
  const choice = chosen(asObjects(schema['anyOf'] ?? schema['oneOf']), depth)
  if (choice !== undefined)
    return instanceOf({ ...schema, ...choice, anyOf: undefined, oneOf: undefined }, walk, depth + 1)
  switch (typeOf(schema)) {
    case 'object':
      return objectOf(schema, walk, depth)
    case 'array':
      return arrayOf(schema, walk, depth)
    case 'string':
      walk.steps += upToMost(schema['minLength']) / CHARACTERS_OF_A_STEP
      return stringOf(schema)
    case 'number':
    case 'integer':
      return numberOf(schema)
    case 'boolean':
      return true
    default:
      return null
  }
}

/** A type that may hold itself ends before the depth does, which would leave out what the innermost one requires. */
function chosen(choices: readonly JsonObject[], depth: number): JsonObject | undefined {
  const end = depth > DEEPEST / 2 ? choices.find(({ type }) => type === 'null') : undefined
  return end ?? choices[0]
}

/** Follows `$ref` inside the same document and folds `allOf` into the schema around it. */
function resolve(schema: JsonObject, walk: Walk): JsonObject {
  walk.steps += 1
  if (walk.steps > MOST) return {}
  let current = schema
  for (let hops = 0; hops < DEEPEST; hops++) {
    const reference = asString(current['$ref'])
    if (reference === undefined) break
    const { $ref: _, ...siblings } = current
    current = { ...lookUp(reference, walk.root), ...siblings }
  }
  const all = asObjects(current['allOf'])
  if (all.length === 0) return current
  return all.reduce<JsonObject>((merged, part) => mergeSchemas(merged, resolve(part, walk)), {
    ...current,
    allOf: undefined,
  })
}

function lookUp(reference: string, root: JsonObject): JsonObject {
  const steps = reference
    .replace(/^#\/?/, '')
    .split('/')
    .filter(step => step !== '')
  let current: JsonValue | undefined = root
  for (const step of steps) {
    current = asObject(current)?.[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return asObject(current) ?? {}
}

function mergeSchemas(left: JsonObject, right: JsonObject): JsonObject {
  return {
    ...left,
    ...right,
    properties: { ...asObject(left['properties']), ...asObject(right['properties']) },
    required: [...asArray(left['required']), ...asArray(right['required'])],
  }
}

function typeOf(schema: JsonObject): string | undefined {
  const type = schema['type']
  const named = Array.isArray(type) ? type.find(entry => entry !== 'null') : type
  if (typeof named === 'string') return named.toLowerCase()
  if (schema['properties'] !== undefined) return 'object'
  return schema['items'] === undefined ? undefined : 'array'
}

function objectOf(schema: JsonObject, walk: Walk, depth: number): JsonObject {
  const properties = asObject(schema['properties']) ?? {}
  const result: JsonObject = {}
  for (const name of asArray(schema['required'])) {
    if (typeof name === 'string') result[name] = instanceOf(properties[name], walk, depth + 1)
  }
  return result
}

function arrayOf(schema: JsonObject, walk: Walk, depth: number): JsonValue[] {
  const length = Math.min(upToMost(schema['minItems']), Math.max(0, MOST - walk.steps))
  walk.steps += length
  return Array.from({ length }, () => instanceOf(schema['items'], walk, depth + 1))
}

const FORMATTED: Record<string, string> = {
  'date-time': '2025-01-01T00:00:00Z',
  date: '2025-01-01',
  time: '00:00:00Z',
  duration: 'P1D',
  email: 'a@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

function stringOf(schema: JsonObject): string {
  const formatted = FORMATTED[asString(schema['format']) ?? '']
  if (formatted !== undefined) return formatted
  const text = 'text'.padEnd(upToMost(schema['minLength']), 'x')
  return text.slice(0, asNumber(Number(schema['maxLength'])) ?? text.length)
}

function upToMost(length: JsonValue | undefined): number {
  return Math.min(asNumber(Number(length)) ?? 0, MOST)
}

function numberOf(schema: JsonObject): number {
  const step = asNumber(schema['multipleOf']) ?? 1
  const above = asNumber(schema['exclusiveMinimum'])
  const lowest = above === undefined ? asNumber(schema['minimum']) : Math.floor(above / step) * step + step
  if (lowest !== undefined) return Math.ceil(lowest / step) * step
  const below = asNumber(schema['exclusiveMaximum'])
  const highest = below === undefined ? asNumber(schema['maximum']) : Math.ceil(below / step) * step - step
  return highest === undefined || highest >= 0 ? 0 : Math.floor(highest / step) * step
}
