import { invalidRequest } from '@/formats/invalid.ts'
import type { Part, ToolCallPart, ToolResultPart } from '@/generation/part.ts'
import {
  asArray,
  asNonEmpty,
  asObject,
  asString,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import { cacheMark, decodeResult } from './content-decode.ts'

// Where a model's name is Claude's, Cursor writes tools, calls and results as Anthropic has them, in requests of this
// format: https://github.com/router-for-me/CLIProxyAPI/issues/3805

/** Whether a body has a tool, a call or a result in Anthropic's words. */
export function hasAnthropicWords({ tools, messages }: JsonObject): boolean {
  if (asArray(tools).some(isAnthropicTool)) return true
  return asArray(messages).some(message => asArray(asObject(message)?.['content']).some(isBlock))
}

/** Whether a tool is a name and its `input_schema`. */
export function isAnthropicTool(value: JsonValue | undefined): boolean {
  const { type = 'custom', name, input_schema: schema } = asObject(value) ?? {}
  return type === 'custom' && asNonEmpty(name) !== undefined && isJsonObject(schema)
}

function isBlock(part: JsonValue): boolean {
  const type = asObject(part)?.['type']
  return type === 'tool_use' || type === 'tool_result'
}

/** The call that a part of the assistant's content is, or the part. @param path where it stands, for complaints. */
export function orCall(part: Part, path: string): Part {
  return part.type === 'opaque' && part.name === 'tool_use'
    ? decodeCall(asObject(part.value) ?? {}, path)
    : part
}

/** The result that a part of the user's content is, or the part. */
export function orResult(part: Part, path: string): Part {
  return part.type === 'opaque' && part.name === 'tool_result'
    ? decodeToolResult(asObject(part.value) ?? {}, path)
    : part
}

function decodeCall(block: JsonObject, path: string): ToolCallPart {
  return {
    type: 'tool-call',
    kind: 'function',
    callId: required(block, 'id', path),
    name: required(block, 'name', path),
    namespace: undefined,
    input: JSON.stringify(block['input'] ?? {}),
    signature: undefined,
    cache: cacheMark(block),
  }
}

function decodeToolResult(block: JsonObject, path: string): ToolResultPart {
  return {
    type: 'tool-result',
    kind: 'function',
    callId: required(block, 'tool_use_id', path),
    name: undefined,
    content: decodeResult(block['content'], path),
    isError: block['is_error'] === true,
    cache: cacheMark(block),
  }
}

function required(block: JsonObject, name: string, path: string): string {
  const value = asString(block[name])
  if (value === undefined) throw invalidRequest(`${path}.${name}`, 'required')
  return value
}
