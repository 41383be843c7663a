import { type Part, type ToolCallPart, type ToolResultPart, textPart } from '@/generation/part.ts'
import type { Turn } from '@/generation/request.ts'
import type { FunctionTool, HostedTool } from '@/generation/tool.ts'

/** A turn of the user; a string is a text. */
export function user(...parts: (Part | string)[]): Turn {
  return { role: 'user', parts: parts.map(partOf) }
}

export function assistant(...parts: (Part | string)[]): Turn {
  return { role: 'assistant', parts: parts.map(partOf) }
}

export function system(text: string): Turn {
  return { role: 'system', parts: [textPart(text)] }
}

function partOf(part: Part | string): Part {
  return typeof part === 'string' ? textPart(part) : part
}

/** A call of the function `f` without arguments, but for these fields. */
export function call(callId: string, fields: Partial<ToolCallPart> = {}): ToolCallPart {
  return {
    type: 'tool-call',
    kind: 'function',
    callId,
    name: 'f',
    namespace: undefined,
    input: '{}',
    signature: undefined,
    cache: undefined,
    ...fields,
  }
}

/** The result of a function; a string is its text. */
export function result(
  callId: string,
  content: string | ToolResultPart['content'] = [],
  fields: Partial<ToolResultPart> = {},
): ToolResultPart {
  return {
    type: 'tool-result',
    kind: 'function',
    callId,
    name: undefined,
    content: typeof content === 'string' ? [textPart(content)] : content,
    isError: false,
    cache: undefined,
    ...fields,
  }
}

export function functionTool(name: string, fields: Partial<FunctionTool> = {}): FunctionTool {
  return {
    type: 'function',
    name,
    namespace: undefined,
    description: undefined,
    parameters: { type: 'object', properties: {} },
    strict: undefined,
    cache: undefined,
    ...fields,
  }
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
