import { EMPTY_REQUEST } from '#tests/formats/empty-request.ts'
import type { GenerationEvent } from '@/generation/event.ts'
import type { ToolCallKind, ToolCallPart, ToolResultPart } from '@/generation/part.ts'
import type { GenerationRequest, Turn } from '@/generation/request.ts'
import type { ClientTool, CustomTool, FunctionTool, HostedTool } from '@/generation/tool.ts'
import type { JsonObject } from '@/json/json.ts'

/** The alphabet of OpenAI's and Anthropic's tool names. */
export const RULE = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 64 }

export function request(fields: Partial<GenerationRequest>): GenerationRequest {
  return { ...EMPTY_REQUEST, stream: true, ...fields }
}

export function functionTool(name: string, namespace?: string): FunctionTool {
  return {
    type: 'function',
    name,
    namespace,
    description: undefined,
    parameters: { type: 'object', properties: {} },
    strict: undefined,
    cache: undefined,
  }
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

export function hostedTool(kind: HostedTool['kind'], wireType: string): HostedTool {
  return {
    type: 'hosted',
    kind,
    format: 'openai-responses',
    wireType,
    wire: { type: wireType },
    webSearch: undefined,
  }
}

export function call(kind: ToolCallKind, name: string, input: string, namespace?: string): ToolCallPart {
  return {
    type: 'tool-call',
    kind,
    callId: `call_${name}`,
    name,
    namespace,
    input,
    signature: undefined,
    cache: undefined,
  }
}

export function result(kind: ToolCallKind, callId: string, name?: string): ToolResultPart {
  return { type: 'tool-result', kind, callId, name, content: [], isError: false, cache: undefined }
}

export function assistant(...parts: Turn['parts']): Turn {
  return { role: 'assistant', parts }
}

/** The events of one function call, its arguments in these pieces. */
export function callEvents(name: string, pieces: readonly string[], block = 0): GenerationEvent[] {
  return [
    {
      type: 'tool-input-start',
      block,
      candidate: 0,
      kind: 'function',
      callId: `call_${block}`,
      name,
      namespace: undefined,
    },
    ...pieces.map(text => ({ type: 'tool-input-delta', block, text }) as const),
    { type: 'tool-input-end', block, signature: undefined },
  ]
}
