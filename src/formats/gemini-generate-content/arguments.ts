import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'

/**
 * A call's input as the object Gemini wants. Nothing fails here, since a broken call may stand in the history for
 * good: what is no JSON object becomes `{"_raw": text}`.
 */
export function encodeArgs(input: string): JsonObject {
  if (input.trim() === '') return {}
  return parseExact(input) ?? { _raw: input }
}

/**
 * The object that a text holds, or undefined. Numbers beyond double precision keep their digits: they become raw
 * JSON, which JSON.stringify writes as it was.
 */
export function parseExact(text: string): JsonObject | undefined {
  try {
    const value: unknown = parseDigits(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * JSON.parse that keeps every number's digits.
 * @throws SyntaxError when the text is no JSON.
 */
export function parseDigits(text: string): unknown {
  return FRAGILE_NUMBER.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text)
}

/** Texts in which some number may not survive a double; a false alarm costs a slower parse. */
const FRAGILE_NUMBER = /\d{16}|\d\.\d{15}|[eE][+-]?\d{3}|-0/

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
