import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { Failure } from '@/simulator/failure.ts'
import { addText, type OfferedTool, type Prompt } from '@/simulator/prompt.ts'

/** A function name at OpenAI. */
const OPENAI_NAME = /^[a-zA-Z0-9_-]{1,64}$/

/** A 400 in OpenAI's words. */
export function refuseOpenai(message: string, param: string, code = 'invalid_value'): never {
  throw new Failure(400, message, { param, code })
}

/** OpenAI's answer to a field of the wrong type. */
export function refuseType(param: string, expected: string, value: JsonValue | undefined): never {
  if (value === undefined)
    refuseOpenai(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter')
  return refuseOpenai(
    `Invalid type for '${param}': expected ${expected}, but got ${describe(value)} instead.`,
    param,
    'invalid_type',
  )
}

/** The value as a string; anything else is a 400 in OpenAI's words. */
export function requireString(value: JsonValue | undefined, param: string): string {
  return typeof value === 'string' ? value : refuseType(param, 'a string', value)
}

/** The value as an object; anything else is a 400 in OpenAI's words. */
export function requireObject(value: JsonValue | undefined, param: string): JsonObject {
  return isJsonObject(value) ? value : refuseType(param, 'an object', value)
}

/** The value as an array; anything else is a 400 in OpenAI's words. */
export function requireArray(value: JsonValue | undefined, param: string): JsonValue[] {
  return Array.isArray(value) ? value : refuseType(param, 'an array of objects', value)
}

/** The objects of an array, each with its name in errors: `tools[0]`. */
export function requireObjects(values: readonly JsonValue[], param: string): [JsonObject, string][] {
  return values.map((value, index) => [requireObject(value, `${param}[${index}]`), `${param}[${index}]`])
}

/** The value as an array that is not empty; anything else is a 400 in OpenAI's words. */
export function requireFilled(value: JsonValue | undefined, param: string): JsonValue[] {
  const values = requireArray(value, param)
  if (values.length > 0) return values
  return refuseOpenai(
    `Invalid '${param}': empty array. Expected an array with minimum length 1.`,
    param,
    'empty_array',
  )
}

/** The value as the name of a function; anything else is a 400 in OpenAI's words. */
export function requireOpenaiName(value: JsonValue | undefined, param: string): string {
  const name = requireString(value, param)
  if (OPENAI_NAME.test(name)) return name
  return refuseOpenai(
    `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' and is at most 64 characters long.`,
    param,
  )
}

/** The type of a part of a message, which has to be one of `kinds`. */
export function requireKind(part: JsonObject, param: string, kinds: readonly string[]): string {
  const type = requireString(part['type'], `${param}.type`)
  if (kinds.includes(type)) return type
  return refuseOpenai(
    `Invalid value: '${type}'. Supported values are: ${kinds.map(kind => `'${kind}'`).join(', ')}.`,
    `${param}.type`,
  )
}

/** Reads the content of a message, text or parts, into segments and returns the text. */
export function readContent(
  content: JsonValue | undefined,
  param: string,
  prompt: Prompt,
  readPart: (part: JsonObject, param: string) => string | undefined,
): string {
  if (typeof content === 'string') {
    addText(prompt, content)
    return content
  }
  if (!Array.isArray(content)) return refuseType(param, 'a string or an array of parts', content)
  const texts = requireObjects(content, param).map(([part, place]) => readPart(part, place))
  return texts.filter(text => text !== undefined).join('\n')
}

/** An optional number inside its bounds; `null` counts as absent, as at OpenAI. */
export function optionalNumber(
  body: JsonObject,
  param: string,
  lowest: number,
  highest = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const value = body[param]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number') return refuseType(param, 'a number', value)
  if (value < lowest) {
    refuseOpenai(
      `Invalid '${param}': below minimum value. Expected a value >= ${lowest}, but got ${value} instead.`,
      param,
      Number.isInteger(value) ? 'integer_below_min_value' : 'decimal_below_min_value',
    )
  }
  if (value > highest) {
    refuseOpenai(
      `Invalid '${param}': above maximum value. Expected a value <= ${highest}, but got ${value} instead.`,
      param,
      Number.isInteger(value) ? 'integer_above_max_value' : 'decimal_above_max_value',
    )
  }
  return value
}

/** Name and input of a function that a request defines; one without parameters takes an empty object. */
export function readFunction(definition: JsonObject, param: string): Pick<OfferedTool, 'name' | 'schema'> {
  const name = requireOpenaiName(definition['name'], `${param}.name`)
  const schema = requireObject(
    definition['parameters'] ?? { type: 'object', properties: {} },
    `${param}.parameters`,
  )
  const { type = 'object' } = schema
  const fault =
    type === 'object'
      ? definition['strict'] === true && strictSchemaFault(schema)
      : `schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(type)}'.`
  if (fault)
    refuseOpenai(
      `Invalid schema for function '${name}': ${fault}`,
      `${param}.parameters`,
      'invalid_function_parameters',
    )
  return { name, schema }
}

/** The first place where a schema breaks OpenAI's strict mode, in its words; undefined when there is none. */
export function strictSchemaFault(schema: JsonValue | undefined, context = '()'): string | undefined {
  if (!isJsonObject(schema)) return undefined
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  if (schema['type'] === 'object') {
    if (schema['additionalProperties'] !== false) {
      return `In context=${context}, 'additionalProperties' is required to be supplied and to be false.`
    }
    const required = Array.isArray(schema['required']) ? schema['required'] : []
    const missing = Object.keys(properties).find(name => !required.includes(name))
    if (missing !== undefined) {
      return `In context=${context}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`
    }
  }
  for (const [name, property] of Object.entries(properties)) {
    const fault = strictSchemaFault(property, `('properties', '${name}')`)
    if (fault !== undefined) return fault
  }
  return strictSchemaFault(schema['items'], `${context.slice(0, -1)}, 'items')`)
}

function describe(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal number'
  return typeof value === 'boolean' ? 'a boolean' : 'a string'
}
