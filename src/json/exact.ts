import { asObject, type JsonObject, type JsonValue, parseJson } from './json.ts'

/**
 * `parseJson` that keeps every number as it was written: one that a double would change becomes raw JSON, which
 * JSON.stringify writes back digit for digit.
 * @throws SyntaxError when the text is no JSON
 */
export function parseExact(text: string): JsonValue {
  const value = parseJson(text)
  return RISKY_NUMBER.test(text) ? JSON.parse(text, keepDigits) : value
}

/** The object that a text holds, numbers as they were written; undefined when it is no JSON or no object. */
export function parseExactObject(text: string): JsonObject | undefined {
  // A lone number may be an object by now, the raw JSON that it stands for.
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    return asObject(parseExact(text))
  } catch {
    return undefined
  }
}

/** Text that may hold a number which a double changes: 16 digits or more, an exponent, a fraction, a minus zero. */
const RISKY_NUMBER = /\d{16}|\d[eE.]|-0/

function keepDigits(_key: string, value: JsonValue, context?: { source?: string }): JsonValue {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value
  return rawJson(source)
}

/**
 * JSON.rawJSON, which TypeScript's library does not know yet. Safe: Bun 1.4 has it, and what it returns is opaque to
 * everyone but JSON.stringify.
 */
function rawJson(source: string): JsonValue {
  return (JSON as unknown as { rawJSON(text: string): JsonValue }).rawJSON(source)
}
