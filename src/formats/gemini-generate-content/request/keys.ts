import { invalidRequest } from '@/formats/invalid.ts'
import { asObject, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/** Values that belong to the caller: their keys are data and stay as they are. */
const USER_DATA = new Set([
  ...['args', 'customConfigs', 'headers', 'labels', 'parameters', 'parametersJsonSchema', 'partMetadata'],
  ...['response', 'responseJsonSchema', 'responseSchema', 'schema'],
])

/** Fields that are lists, for which the API takes a single item as well: its own documentation writes it so. */
const LISTS = new Set(['contents', 'functionDeclarations', 'parts', 'tools'])

/** Numbers, which proto JSON reads from a text as well. */
const NUMBERS = new Set([
  ...['candidateCount', 'durationSeconds', 'frequencyPenalty', 'logprobs', 'maxOutputTokens'],
  ...['outputDimensionality', 'presencePenalty', 'sampleCount', 'seed', 'temperature', 'thinkingBudget'],
  ...['topK', 'topP'],
])

const NUMERIC = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i

/** Deeper than any field of the API lies; more is an attack on the stack. */
const MAX_DEPTH = 64

/**
 * The body with the API's own keys in camelCase (the API takes snake_case too), without nulls, which proto JSON reads
 * as absent, and with lists and numbers where those belong. User data inside is the same object as before. Where both
 * spellings are given camelCase wins.
 */
export function camelKeys(body: JsonObject): JsonObject {
  return camelObject(body, 0)
}

/**
 * The `parameters` of a prediction: the caller's own data to the codec of conversations, and the API's there.
 * @throws GatewayError `invalid_request`
 */
export function parametersOf({ parameters }: JsonObject): JsonObject {
  if (parameters === undefined || parameters === null) return {}
  if (!isJsonObject(parameters)) throw invalidRequest('parameters', 'expected object')
  return camelKeys(parameters)
}

/** What an object has beside what is known, each behind the path of the object. */
export function unknownKeys(object: JsonObject = {}, known: ReadonlySet<string>, path = ''): string[] {
  return Object.keys(object)
    .filter(name => !known.has(name))
    .map(name => path + name)
}

function camelObject(object: JsonObject, depth: number): JsonObject {
  if (depth > MAX_DEPTH) throw invalidRequest('body', 'nested too deeply')
  const entries: [string, JsonValue | undefined][] = []
  for (const [key, value] of Object.entries(object)) {
    const name = camelCase(key)
    if (value === null || value === undefined) continue
    if (name !== key && Object.hasOwn(object, name)) continue
    entries.push([name, USER_DATA.has(name) ? value : camelValue(typed(name, value), depth + 1)])
  }
  // fromEntries defines keys where an assignment would call the setter of `__proto__`.
  return Object.fromEntries(entries)
}

/** What is written in another of the ways that proto JSON has for a field's type, or as Vertex writes roles in its documentation. */
function typed(name: string, value: JsonValue): JsonValue {
  if (isJsonObject(value)) return LISTS.has(name) ? [value] : value
  if (typeof value !== 'string') return value
  if (name === 'role') return value.toLowerCase()
  return NUMBERS.has(name) && NUMERIC.test(value) ? Number(value) : value
}

function camelValue(value: JsonValue, depth: number): JsonValue {
  if (Array.isArray(value)) {
    if (depth > MAX_DEPTH) throw invalidRequest('body', 'nested too deeply')
    return value.map(item => camelValue(item, depth + 1))
  }
  return isJsonObject(value) ? camelObject(value, depth) : value
}

function camelCase(key: string): string {
  if (!/^[a-z][a-zA-Z0-9]*(?:_[a-zA-Z0-9]+)+$/.test(key)) return key
  return key.replace(/_([a-zA-Z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** A path of the camelCase body as the caller spelled it: `generationConfig.topK` as `generation_config.top_k`. */
export function callerPath(path: string, body: JsonObject): string {
  let here: JsonValue | undefined = body
  return path.replace(/[^.[\]]+/g, segment => {
    if (Array.isArray(here)) {
      here = here[Number(segment)]
      return segment
    }
    const object: JsonObject = asObject(here) ?? {}
    const key = Object.hasOwn(object, segment)
      ? segment
      : (Object.keys(object).find(name => camelCase(name) === segment) ?? segment)
    here = object[key]
    return key
  })
}
