import { asNumber, asObject, isJsonObject, type JsonObject, type JsonValue, parseJson } from './json.ts'

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

/**
 * A parsed value with every digit of the numbers under these keys, which are somebody's data and no fields of an API.
 * Where a double holds them all, as nearly always, it is the value itself; else a copy.
 * @param text what it was parsed from, asked for only where a digit is at stake; the value stays as it is without
 */
export function withDigits(value: JsonObject, text: () => string, keys: ReadonlySet<string>): JsonObject {
  if (!isAtStake(value, keys, false)) return value
  const exact = parseExactObject(text())
  return exact === undefined ? value : (asObject(grafted(value, exact, keys)) ?? value)
}

/** The nearest double of a number, raw JSON that stands for one included; undefined for anything else. */
export function nearestNumber(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return asNumber(value)
  const digits = asObject(value)?.['rawJSON']
  return typeof digits === 'string' && isRawJson(value) ? asNumber(Number(digits)) : undefined
}

/** @param inside whether the value stands under one of the keys */
function isAtStake(value: JsonValue | undefined, keys: ReadonlySet<string>, inside: boolean): boolean {
  if (typeof value === 'number') return inside && isChanged(value)
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(item => isAtStake(item, keys, inside))
  for (const key of Object.keys(value)) if (isAtStake(value[key], keys, inside || keys.has(key))) return true
  return false
}

/** Whether a number may have been written differently: beyond the whole numbers of a double or all of them, minus zero, 17 digits. */
function isChanged(value: number): boolean {
  if (Number.isSafeInteger(value)) return Object.is(value, -0)
  return Number.isInteger(value) || !Number.isFinite(value) || String(value).length > 17
}

function grafted(
  value: JsonValue | undefined,
  exact: JsonValue | undefined,
  keys: ReadonlySet<string>,
): JsonValue | undefined {
  if (Array.isArray(value) && Array.isArray(exact)) {
    return value.map((item, index) => grafted(item, exact[index], keys) ?? null)
  }
  if (!isJsonObject(value) || !isJsonObject(exact)) return value
  // As entries, for a key may be `__proto__`.
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      keys.has(key) ? exact[key] : grafted(inner, exact[key], keys),
    ]),
  )
}

/** Text that may hold a number which a double changes: 16 digits or more, an exponent, a fraction, a minus zero. */
const RISKY_NUMBER = /\d{16}|\d[eE.]|-0/

function keepDigits(_key: string, value: JsonValue, context?: { source?: string }): JsonValue {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value
  return rawJson(source)
}

/** JSON.isRawJSON; see `rawJson`. */
function isRawJson(value: unknown): boolean {
  return (JSON as unknown as { isRawJSON(value: unknown): boolean }).isRawJSON(value)
}

/**
 * JSON.rawJSON, which TypeScript's library does not know yet. Safe: Bun 1.4 has it, and what it returns is opaque to
 * everyone but JSON.stringify.
 */
function rawJson(source: string): JsonValue {
  return (JSON as unknown as { rawJSON(text: string): JsonValue }).rawJSON(source)
}
