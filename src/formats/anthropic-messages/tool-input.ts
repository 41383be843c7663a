import type { ToolCallKind } from '@/generation/part.ts'
import { isJsonObject, type JsonObject } from '@/json/json.ts'

/**
 * A call's input as the object that `tool_use` wants. Text that is no JSON object is wrapped and not refused: it may
 * be a model's slip that stands in the history for ever.
 */
export function toolInput(kind: ToolCallKind, text: string): JsonObject {
  if (kind === 'custom') return { input: text }
  if (text.trim() === '') return {}
  try {
    const value = parseExactly(text)
    return isJsonObject(value) ? value : { _raw: text }
  } catch {
    return { _raw: text }
  }
}

/** Text that may hold a number which a double changes: 16 digits or more, an exponent, a fraction, a minus zero. */
const RISKY_NUMBER = /\d{16}|\d[eE.]|-0/

/**
 * `JSON.parse`, but a number that a double cannot spell as it was written stays as it was written when the value is
 * stringified again (`JSON.rawJSON`).
 */
function parseExactly(text: string): unknown {
  if (!RISKY_NUMBER.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value
    return rawJson(source)
  })
}

/** ES2026's `JSON.rawJSON`, which TypeScript's library does not declare yet. */
function rawJson(source: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(source)
}
