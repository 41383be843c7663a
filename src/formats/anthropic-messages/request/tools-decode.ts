import { cacheMark } from '@/formats/anthropic-messages/block-decode.ts'
import { FORMAT } from '@/formats/anthropic-messages/wire.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import { searchSettings } from '@/formats/tools/web-search.ts'
import type {
  ClientTool,
  FunctionTool,
  HostedTool,
  HostedToolKind,
  Tool,
  ToolChoice,
} from '@/generation/tool.ts'
import { asBoolean, asNonEmpty, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { offeredTools } from './tool-changes.ts'

/** Tools that the caller runs itself, by the beginning of their versioned type. Their calls are plain tool_use. */
const CLIENT_TOOLS = ['bash_', 'text_editor_', 'memory_', 'computer_', 'browser_']

/** Tools that Anthropic's server runs. */
const HOSTED_TOOLS: readonly (readonly [string, HostedToolKind])[] = [
  ['web_search_', 'web_search'],
  ['web_fetch_', 'web_fetch'],
  ['code_execution_', 'code_execution'],
]

/**
 * The tools that the model may call at the conversation's end.
 * @throws GatewayError `invalid_request` for a function without a name
 */
export function decodeTools(tools: readonly JsonValue[], messages: readonly JsonValue[]): Tool[] {
  return offeredTools(tools, messages).map(({ wire, path }) => decodeTool(wire, path))
}

function decodeTool(wire: JsonObject, path: string): Tool {
  const type = asString(wire['type']) ?? 'custom'
  if (type === 'custom') return decodeFunction(wire, path)
  if (CLIENT_TOOLS.some(prefix => type.startsWith(prefix))) return decodeClient(wire, type)
  return decodeHosted(wire, type)
}

function decodeFunction(wire: JsonObject, path: string): FunctionTool {
  const name = asString(wire['name'])
  if (name === undefined || name === '') throw invalidRequest(`${path}.name`, 'expected a string')
  return {
    type: 'function',
    name,
    namespace: undefined,
    description: asNonEmpty(wire['description']),
    parameters: asObject(wire['input_schema']),
    strict: asBoolean(wire['strict']),
    cache: cacheMark(wire),
  }
}

function decodeClient(wire: JsonObject, type: string): ClientTool {
  const name = asString(wire['name']) ?? type.replace(/_\d+$/, '')
  return { type: 'client', kind: 'function', name, format: FORMAT, wireType: type, wire }
}

function decodeHosted(wire: JsonObject, type: string): HostedTool {
  const kind = HOSTED_TOOLS.find(([prefix]) => type.startsWith(prefix))?.[1] ?? 'other'
  return {
    type: 'hosted',
    kind,
    format: FORMAT,
    wireType: type,
    wire,
    webSearch: kind === 'web_search' ? searchSettings(wire) : undefined,
  }
}

/** @throws GatewayError `invalid_request` for a kind of choice that the API does not have */
export function decodeToolChoice(
  wire: JsonObject | undefined,
  tools: readonly Tool[],
): ToolChoice | undefined {
  if (wire === undefined) return undefined
  switch (wire['type']) {
    case 'auto':
      return { type: 'auto' }
    case 'none':
      return { type: 'none' }
    case 'any':
      return { type: 'required' }
    case 'tool':
      return decodeForced(asString(wire['name']), tools)
    default:
      throw invalidRequest('tool_choice.type', "expected 'auto', 'any', 'tool' or 'none'")
  }
}

function decodeForced(name: string | undefined, tools: readonly Tool[]): ToolChoice {
  if (name === undefined) throw invalidRequest('tool_choice.name', 'expected a string')
  const hosted = tools.find(tool => tool.type === 'hosted' && asString(tool.wire['name']) === name)
  const kind =
    hosted?.type === 'hosted' ? { hosted: hosted.kind, wireType: hosted.wireType } : ('function' as const)
  return { type: 'tool', name, namespace: undefined, kind }
}
