import { asNonEmpty, asObject, type JsonObject } from '@/json/json.ts'

/** Says nothing, whatever it is called. */
export function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

/** The call of older answers; Snowflake writes one out, empty, where there is none. */
export function legacyCallIn(message: JsonObject): JsonObject | undefined {
  return saying(asObject(message['function_call']))
}

/** The custom call that an entry is; Snowflake writes one out, empty, beside the function that is called. */
export function customCallIn(entry: JsonObject): JsonObject | undefined {
  const custom = asObject(entry['custom'])
  return asObject(entry['function']) === undefined ? custom : saying(custom)
}

/** The type of a call that the vendor has made itself, as Z.ai tells those of MCP among the others: nobody is to run it. */
export function hostedCallType(entry: JsonObject): string | undefined {
  // A later delta of one may come without its type.
  const type = asNonEmpty(entry['type']) ?? ('mcp' in entry ? 'mcp' : undefined)
  const isCall = type === 'function' || type === 'custom' || 'function' in entry || 'custom' in entry
  return isCall ? undefined : type
}

function saying(call: JsonObject | undefined): JsonObject | undefined {
  return call === undefined || Object.values(call).every(isEmpty) ? undefined : call
}
