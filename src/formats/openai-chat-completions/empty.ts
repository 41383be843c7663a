import { asObject, type JsonObject } from '@/json/json.ts'

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

function saying(call: JsonObject | undefined): JsonObject | undefined {
  return call === undefined || Object.values(call).every(isEmpty) ? undefined : call
}
