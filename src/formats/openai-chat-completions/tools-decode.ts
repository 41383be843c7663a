import { invalidRequest } from '@/formats/invalid.ts'
import { searchSettings } from '@/formats/tools/web-search.ts'
import type { CustomTool, FunctionTool, HostedTool, Tool, ToolChoice } from '@/generation/tool.ts'
import {
  asArray,
  asBoolean,
  asNonEmpty,
  asObject,
  asString,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import { isAnthropicTool } from './anthropic-words.ts'
import { cacheMark } from './content-decode.ts'
import { FORMAT } from './wire.ts'

/** True where tools are given as `functions`, and calls are read as `function_call`. */
export function isLegacyRequest(body: JsonObject): boolean {
  return Array.isArray(body['functions']) && asArray(body['tools']).length === 0
}

/** Reads `tools`, legacy `functions` and the search that is asked for by an option of its own. */
export function decodeTools(body: JsonObject): Tool[] {
  const tools: Tool[] = asArray(body['tools']).map((tool, index) => decodeTool(asObject(tool) ?? {}, index))
  if (isLegacyRequest(body)) {
    for (const legacy of asArray(body['functions']))
      tools.push(functionTool(asObject(legacy) ?? {}, undefined))
  }
  const search = asObject(body['web_search_options'])
  if (search !== undefined) tools.push(hostedTool('web_search_options', search))
  return tools
}

/** Whether a body writes tools, the choice of one or of several as Responses has them. */
export function hasFlatTools({ tools, tool_choice: choice }: JsonObject): boolean {
  if (isFlat(choice) || asArray(tools).some(isFlat)) return true
  const wire = asObject(choice)
  if (wire?.['type'] !== 'allowed_tools') return false
  const allowed = asObject(wire['allowed_tools'])
  return allowed === undefined ? Array.isArray(wire['tools']) : asArray(allowed['tools']).some(isFlat)
}

/**
 * Whether a tool, or the choice of one, is written as Responses has it, its name beside its type. Cursor puts such tools
 * among the others.
 */
export function isFlat(value: JsonValue | undefined): boolean {
  const wire = asObject(value)
  const type = wire?.['type']
  if (type !== 'function' && type !== 'custom') return false
  return asObject(wire?.[type]) === undefined && asNonEmpty(wire?.['name']) !== undefined
}

function decodeTool(tool: JsonObject, index: number): Tool {
  const type = asString(tool['type'])
  const flat = isFlat(tool) ? tool : undefined
  const definition = asObject(tool['function']) ?? (type === 'function' ? flat : undefined)
  if (definition !== undefined) return functionTool(definition, tool)
  if (isAnthropicTool(tool)) return functionTool({ ...tool, parameters: tool['input_schema'] ?? null }, tool)
  const custom = asObject(tool['custom']) ?? flat
  if (custom !== undefined) return customTool(custom)
  if (type === undefined) throw invalidRequest(`tools[${index}].type`, 'required')
  if (type === 'function' || type === 'custom') throw invalidRequest(`tools[${index}].${type}`, 'required')
  return hostedTool(type, tool)
}

function functionTool(definition: JsonObject, holder: JsonObject | undefined): FunctionTool {
  return {
    type: 'function',
    name: asString(definition['name']) ?? '',
    namespace: undefined,
    description: asNonEmpty(definition['description']),
    parameters: asObject(definition['parameters']),
    strict: asBoolean(definition['strict']),
    cache: holder === undefined ? undefined : cacheMark(holder),
  }
}

function customTool(custom: JsonObject): CustomTool {
  const format = asObject(custom['format'])
  const grammar = asObject(format?.['grammar']) ?? format
  const syntax = asString(grammar?.['syntax'])
  const definition = asString(grammar?.['definition'])
  const isKnown = (syntax === 'lark' || syntax === 'regex') && definition !== undefined
  return {
    type: 'custom',
    name: asString(custom['name']) ?? '',
    namespace: undefined,
    description: asNonEmpty(custom['description']),
    grammar: isKnown ? { syntax, definition } : undefined,
  }
}

/** A tool of a vendor's own server: the standard of this format has a search alone, which is asked for by an option. */
function hostedTool(type: string, wire: JsonObject): HostedTool {
  const webSearch = isSearch({ type }) ? searchSettings(wire) : undefined
  const kind = webSearch === undefined ? 'other' : 'web_search'
  return { type: 'hosted', kind, format: FORMAT, wireType: type, wire, webSearch }
}

/** Whether a tool searches the web: clients name it as Anthropic, OpenAI or OpenRouter does. */
export function isSearch({ type }: JsonObject): boolean {
  return typeof type === 'string' && type.includes('web_search')
}

/** Reads `tool_choice`, or legacy `function_call`. */
export function decodeToolChoice(body: JsonObject): ToolChoice | undefined {
  const choice = body['tool_choice']
  if (choice === undefined || choice === null) return legacyChoice(body['function_call'])
  if (typeof choice === 'string') return wordChoice(choice)
  const wire = asObject(choice) ?? {}
  const kind = wire['type'] ?? (wire['function'] !== undefined && 'function')
  switch (kind) {
    case 'function':
    case 'custom':
    case 'tool': {
      const name = asString(asObject(wire[kind])?.['name'] ?? wire['name'])
      if (name === undefined) throw invalidRequest(`tool_choice.${kind}.name`, 'required')
      return { type: 'tool', name, namespace: undefined, kind: kind === 'custom' ? kind : 'function' }
    }
    case 'allowed_tools':
      return allowedChoice(asObject(wire['allowed_tools']) ?? wire)
    default:
      return wordChoice(asString(kind) ?? '')
  }
}

function wordChoice(word: string): ToolChoice {
  if (word === 'auto' || word === 'none' || word === 'required') return { type: word }
  // Mistral's and others' word for `required`.
  if (word === 'any') return { type: 'required' }
  throw invalidRequest('tool_choice', "expected 'auto', 'none', 'required' or a tool")
}

function legacyChoice(choice: JsonValue | undefined): ToolChoice | undefined {
  if (choice === undefined || choice === null) return undefined
  if (choice === 'auto' || choice === 'none') return { type: choice }
  const name = asString(asObject(choice)?.['name'])
  if (name === undefined) throw invalidRequest('function_call', "expected 'auto', 'none' or a name")
  return { type: 'tool', name, namespace: undefined, kind: 'function' }
}

function allowedChoice(allowed: JsonObject): ToolChoice {
  const tools = asArray(allowed['tools']).flatMap(value => {
    const tool = asObject(value)
    const holder = asObject(tool?.['function']) ?? asObject(tool?.['custom']) ?? tool
    const name = asString(holder?.['name']) ?? asString(tool?.['type'])
    return name === undefined ? [] : [{ name, namespace: undefined }]
  })
  return { type: 'allowed', mode: allowed['mode'] === 'required' ? 'required' : 'auto', tools }
}
