import { requiredString } from '@/formats/invalid.ts'
import type { CacheMark, ToolCallPart, ToolResultPart } from '@/generation/part.ts'
import type { JsonObject } from '@/json/json.ts'

// Anthropic's blocks of calls and results, which Cursor writes into Chat Completions as well.

/** A `tool_use` block. @param path where it stands, for complaints */
export function callOfBlock(block: JsonObject, path: string, cache: CacheMark | undefined): ToolCallPart {
  return {
    type: 'tool-call',
    kind: 'function',
    callId: requiredString(block, 'id', path),
    name: requiredString(block, 'name', path),
    namespace: undefined,
    input: JSON.stringify(block['input'] ?? {}),
    signature: undefined,
    cache,
  }
}

/** A `tool_result` block. @param path where it stands, for complaints */
export function resultOfBlock(
  block: JsonObject,
  path: string,
  { content, cache }: Pick<ToolResultPart, 'content' | 'cache'>,
): ToolResultPart {
  return {
    type: 'tool-result',
    kind: 'function',
    callId: requiredString(block, 'tool_use_id', path),
    name: undefined,
    content,
    isError: block['is_error'] === true,
    cache,
  }
}
