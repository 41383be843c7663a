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

/**
 * The smallest value that fits a JSON Schema (types may be in capitals, as Gemini writes them): required properties only,
 * the first of every choice (deep down null, where that is one), the lowest number allowed. Patterns are not solved.
 */
export function smallestInstance(schema: JsonValue | undefined): JsonValue {
  return instanceOf(schema, asObject(schema) ?? {}, 0)
}

function instanceOf(value: JsonValue | undefined, root: JsonObject, depth: number): JsonValue {
  if (!isJsonObject(value) || depth > DEEPEST) return null
  const schema = resolve(value, root)
  if (schema['const'] !== undefined) return schema['const']
  const fixed = asArray(schema['enum'])[0] ?? schema['default'] ?? asArray(schema['examples'])[0]
  if (fixed !== undefined) return fixed
  const choice = chosen(asObjects(schema['anyOf'] ?? schema['oneOf']), depth)
  if (choice !== undefined)
    return instanceOf({ ...schema, ...choice, anyOf: undefined, oneOf: undefined }, root, depth + 1)
  switch (typeOf(schema)) {
    case 'object':
      return objectOf(schema, root, depth)
    case 'array':
      return Array.from({ length: asNumber(Number(schema['minItems'])) ?? 0 }, () =>
        instanceOf(schema['items'], root, depth + 1),
      )
    case 'string':
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
function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  let current = schema
  for (let hops = 0; hops < DEEPEST; hops++) {
    const reference = asString(current['$ref'])
    if (reference === undefined) break
    const { $ref: _, ...siblings } = current
    current = { ...lookUp(reference, root), ...siblings }
  }
  const all = asObjects(current['allOf'])
  if (all.length === 0) return current
  return all.reduce<JsonObject>((merged, part) => mergeSchemas(merged, resolve(part, root)), {
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

function objectOf(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  const properties = asObject(schema['properties']) ?? {}
  const result: JsonObject = {}
  for (const name of asArray(schema['required'])) {
    if (typeof name === 'string') result[name] = instanceOf(properties[name], root, depth + 1)
  }
  return result
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
  const text = 'text'.padEnd(Number(schema['minLength'] ?? 0), 'x')
  return text.slice(0, asNumber(Number(schema['maxLength'])) ?? text.length)
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
