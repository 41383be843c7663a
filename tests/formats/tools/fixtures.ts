import { EMPTY_REQUEST } from '#tests/formats/empty-request.ts'
import { functionTool } from '#tests/formats/parts.ts'
import type { ToolCallKind } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import type { ClientTool, CustomTool, FunctionTool } from '@/generation/tool.ts'
import type { JsonObject } from '@/json/json.ts'

/** The alphabet of OpenAI's and Anthropic's tool names. */
export const RULE = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 }

export function request(fields: Partial<GenerationRequest>): GenerationRequest {
  return { ...EMPTY_REQUEST, stream: true, ...fields }
}

export function functionNamed(name: string, namespace?: string): FunctionTool {
  return functionTool(name, { namespace })
}

export function customTool(name: string, fields: Partial<CustomTool> = {}): CustomTool {
  return { type: 'custom', name, namespace: undefined, description: undefined, grammar: undefined, ...fields }
}

export function clientTool(
  kind: ToolCallKind,
  name: string,
  wireType = name,
  wire: JsonObject = {},
): ClientTool {
  const format = kind === 'function' ? 'anthropic-messages' : 'openai-responses'
  return { type: 'client', kind, name, format, wireType, wire: { type: wireType, ...wire } }
}
