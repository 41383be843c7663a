import type { ModelTraits } from '@/formats/anthropic-messages/models.ts'
import { FORMAT } from '@/formats/anthropic-messages/wire.ts'
import { unsayable } from '@/formats/invalid.ts'
import type { Losses } from '@/formats/losses.ts'
import { objectSchema } from '@/formats/schemas/object-schema.ts'
import { onlyAllowed, type PlainlyChosen } from '@/formats/tools/allowed.ts'
import { lostSettings, NO_SETTINGS } from '@/formats/tools/web-search.ts'
import type { GenerationRequest, Turn } from '@/generation/request.ts'
import type { CustomTool, FunctionTool, HostedTool, Tool, ToolChoice } from '@/generation/tool.ts'
import { asString, type JsonObject } from '@/json/json.ts'
import { marked } from './cache-marks.ts'
import type { HeldSchemas } from './held-schemas.ts'
import { newerSchema } from './newer-schema.ts'

const NO_INPUT: JsonObject = { type: 'object', properties: {} }

/** The tool part of a request. */
interface EncodedTools {
  tools: JsonObject[]
  choice: JsonObject | undefined
  /** Whether the choice forces a call; then the model must not think. */
  forced: boolean
  /** Said in the system text where the model cannot be forced. */
  instruction: string | undefined
}

/** @throws GatewayError `unsupported_parameter` where the choice forces a tool that cannot be offered */
export function encodeTools(
  request: GenerationRequest,
  model: ModelTraits,
  held: HeldSchemas,
  losses: Losses,
): EncodedTools {
  const { tools: offered, toolChoice } = onlyAllowed(request)
  const search = offered.find(tool => tool.type === 'hosted' && tool.kind === 'web_search')
  const tools = offered.flatMap(tool => encodeTool(tool, model, held, tool === search, losses))
  if (request.tools.length > 0) refuseLostTool(toolChoice, tools)
  if (tools.length === 0) {
    const called = calledTools(request.turns)
    const choice = called.length > 0 ? { type: 'none' } : undefined
    return { tools: called, choice, forced: false, instruction: undefined }
  }
  const choice = encodeChoice(toolChoice, request.parallelToolCalls === false)
  const forced = choice?.['type'] === 'any' || choice?.['type'] === 'tool'
  if (!forced || model.forcedTools) return { tools, choice, forced, instruction: undefined }
  losses.add('toolChoice')
  const { name: _name, ...rest } = choice
  return {
    tools,
    choice: { ...rest, type: 'auto' },
    forced: false,
    instruction: forceInWords(choice['name']),
  }
}

function forceInWords(name: unknown): string {
  const which = typeof name === 'string' ? `the tool \`${name}\`` : 'one of the tools'
  return `Your next reply must call ${which}; do not reply with text alone.`
}

function encodeTool(
  tool: Tool,
  model: ModelTraits,
  held: HeldSchemas,
  isFirstSearch: boolean,
  losses: Losses,
): JsonObject[] {
  switch (tool.type) {
    case 'function':
      return [encodeFunction(tool, model, held, losses)]
    case 'custom':
      return [encodeCustom(tool)]
    case 'client':
      if (tool.format === FORMAT) return [tool.wire]
      return [{ name: tool.name, input_schema: NO_INPUT }]
    case 'hosted':
      return encodeHosted(tool, model, isFirstSearch, losses)
    default:
      return tool satisfies never
  }
}

function encodeFunction(
  tool: FunctionTool,
  model: ModelTraits,
  held: HeldSchemas,
  losses: Losses,
): JsonObject {
  // One that names no arguments has none.
  const parameters = { additionalProperties: false, ...tool.parameters }
  const schema = objectSchema(tool.parameters ?? NO_INPUT)
  const isAsked = tool.strict === true
  const strict = isAsked && model.outputFormat ? held.tool(parameters, schema) : undefined
  if (isAsked && strict === undefined) losses.add('toolStrict')
  const block = {
    name: tool.name,
    ...(tool.description !== undefined && { description: tool.description }),
    input_schema: strict ?? newerSchema(schema),
    ...(strict !== undefined && { strict: true }),
  }
  return marked(block, tool.cache)
}

function encodeCustom(tool: CustomTool): JsonObject {
  return {
    name: tool.name,
    ...(tool.description !== undefined && { description: tool.description }),
    input_schema: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
  }
}

/**
 * Anthropic's own are given back; a foreign web search becomes Anthropic's, of which there can be one, and so does what
 * reads the addresses that were named; the rest nobody would run.
 */
function encodeHosted(
  tool: HostedTool,
  model: ModelTraits,
  isFirstSearch: boolean,
  losses: Losses,
): JsonObject[] {
  if (tool.format === FORMAT) return [tool.wire]
  if (isFirstSearch && model.hostedTools) return [webSearch(tool, losses)]
  if (tool.kind === 'web_fetch' && model.hostedTools) {
    losses.addAll(lostSettings(tool, []))
    return [{ type: 'web_fetch_20250910', name: FETCH }]
  }
  losses.add('tools', tool.wireType)
  return []
}

const SEARCH = 'web_search'
const FETCH = 'web_fetch'
const NAMES: Partial<Record<HostedTool['kind'], string>> = { web_search: SEARCH, web_fetch: FETCH }

/** What a tool of Anthropic's server is called. */
export function hostedName({ format, kind, wire }: HostedTool): string | undefined {
  if (format === FORMAT) return asString(wire['name'])
  return NAMES[kind]
}

function webSearch(tool: HostedTool, losses: Losses): JsonObject {
  const { maxUses, allowedDomains, blockedDomains, userLocation } = tool.webSearch ?? NO_SETTINGS
  const list = allowedDomains.length > 0 ? 'allowedDomains' : 'blockedDomains'
  losses.addAll(lostSettings(tool, ['maxUses', 'userLocation', list]))
  return {
    type: 'web_search_20250305',
    name: SEARCH,
    ...(maxUses !== undefined && { max_uses: maxUses }),
    // The API takes one of the two lists.
    ...(allowedDomains.length > 0
      ? { allowed_domains: [...allowedDomains] }
      : blockedDomains.length > 0 && { blocked_domains: [...blockedDomains] }),
    ...(userLocation !== undefined && { user_location: { ...userLocation, type: 'approximate' } }),
  }
}

/**
 * A tool that the caller forces must be there: silently answering in words would break what it relies on. A choice
 * without any tools says nothing.
 */
function refuseLostTool(choice: PlainlyChosen['toolChoice'], tools: readonly JsonObject[]): void {
  if (choice?.type === 'tool') {
    const name = wireName(choice)
    if (!tools.some(tool => asString(tool['name']) === name)) {
      throw unsayable('toolChoice', `forces the tool '${choice.name}', which cannot be offered to this model`)
    }
  }
  if (choice?.type === 'required' && tools.length === 0) {
    throw unsayable('toolChoice', 'forces a tool call, but none of the tools can be offered to this model')
  }
}

function wireName(choice: Extract<ToolChoice, { type: 'tool' }>): string {
  return (typeof choice.kind === 'object' && NAMES[choice.kind.hosted]) || choice.name
}

function encodeChoice(choice: PlainlyChosen['toolChoice'], oneAtATime: boolean): JsonObject | undefined {
  const single = oneAtATime ? { disable_parallel_tool_use: true } : {}
  switch (choice?.type) {
    case undefined:
      return oneAtATime ? { type: 'auto', ...single } : undefined
    case 'auto':
      return { type: 'auto', ...single }
    case 'none':
      return { type: 'none' }
    case 'required':
      return { type: 'any', ...single }
    case 'tool':
      return { type: 'tool', name: wireName(choice), ...single }
    default:
      return choice satisfies never
  }
}

/** A history with calls needs its tools defined, though the caller offers none any more. */
function calledTools(turns: readonly Turn[]): JsonObject[] {
  const names = turns.flatMap(turn =>
    turn.parts.flatMap(part => (part.type === 'tool-call' ? part.name : [])),
  )
  return [...new Set(names)].map(name => ({ name, input_schema: NO_INPUT }))
}
