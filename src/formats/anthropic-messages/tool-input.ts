import type { ToolCallKind } from '@/generation/part.ts'
import { parseExactObject } from '@/json/exact.ts'
import type { JsonObject } from '@/json/json.ts'

/**
 * A call's input as the object that `tool_use` wants. Text that is no JSON object is wrapped and not refused: it may
 * be a model's slip that stands in the history for ever.
 */
export function toolInput(kind: ToolCallKind, text: string): JsonObject {
  if (kind === 'custom') return { input: text }
  if (text.trim() === '') return {}
  return parseExactObject(text) ?? { _raw: text }
}
