import { callOfBlock, resultOfBlock } from '@/formats/tools/tool-blocks.ts'
import type { Part } from '@/generation/part.ts'
import { asArray, asNonEmpty, asObject, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
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
  const block = blockIn(part, 'tool_use')
  return block === undefined ? part : callOfBlock(block, path, cacheMark(block))
}

/** The result that a part of the user's content is, or the part. */
export function orResult(part: Part, path: string): Part {
  const block = blockIn(part, 'tool_result')
  if (block === undefined) return part
  return resultOfBlock(block, path, {
    content: decodeResult(block['content'], path),
    cache: cacheMark(block),
  })
}

function blockIn(part: Part, type: string): JsonObject | undefined {
  return part.type === 'opaque' && part.name === type ? asObject(part.value) : undefined
}
