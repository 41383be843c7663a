import type { ToolCallKind } from '@/generation/part.ts'
import { parseExactObject } from '@/json/exact.ts'
import type { JsonObject, JsonValue } from '@/json/json.ts'

/** A call's input for formats that want an object; undefined for text that is none. */
export function inputObject(kind: ToolCallKind, input: string): JsonObject | undefined {
  if (kind === 'custom') return { input }
  return input.trim() === '' ? {} : parseExactObject(input)
}

/**
 * The input of an earlier turn's call, for formats that want an object. Text that is no JSON object is wrapped as
 * `{"_raw": text}` and not refused: it may be a model's slip that stands in the history for ever.
 */
export function wrappedInput(kind: ToolCallKind, input: string): JsonObject {
  return inputObject(kind, input) ?? { _raw: input }
}

/** A call's input as text; some vendors and callers write the object itself. */
export function inputText(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}
