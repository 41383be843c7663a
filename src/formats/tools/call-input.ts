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

/**
 * The arguments of an earlier turn's call as text. OpenAI takes any. The chat templates of others take them apart: text that
 * is no object would be a 400 for as long as it stands in the history (https://github.com/vllm-project/vllm/issues/43995).
 */
export function argumentsText(kind: ToolCallKind, input: string, isServedByOpenai: boolean): string {
  if (input.trim() === '') return '{}'
  const isTaken = isServedByOpenai || inputObject(kind, input) !== undefined
  return isTaken ? input : JSON.stringify(wrappedInput(kind, input))
}

/** A call's input as text; some vendors and callers write the object itself. */
export function inputText(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}
