import type { Target } from '@/formats/codec.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import type { Losses } from '@/formats/losses.ts'
import { isOpenais } from '@/formats/openai/models.ts'
import { wholePatterns } from '@/formats/openai/plain-schema.ts'
import { functionParameters } from '@/formats/openai/schemas.ts'
import { canBeStrict } from '@/formats/openai/strict-schema.ts'
import { FORMAT } from '@/formats/openai-responses/wire.ts'
import { lostSettings, NO_SETTINGS, searchSettings } from '@/formats/tools/web-search.ts'
import type {
  ClientTool,
  CustomTool,
  FunctionTool,
  HostedTool,
  HostedToolKind,
  Tool,
} from '@/generation/tool.ts'
import {
  asArray,
  asBoolean,
  asNonEmpty,
  asObject,
  asString,
  type JsonObject,
  type JsonValue,
  present,
} from '@/json/json.ts'

/**
 * The tools of a `tools` array; groups (`namespace`) are flattened, their members keep the group's name.
 * @param path of the array in the caller's body, for errors.
 * @throws GatewayError `invalid_request` for a tool without its type or name.
 */
export function decodeTools(wire: JsonValue | undefined, path: string): Tool[] {
  return asArray(wire).flatMap((value, index) => {
    const tool = asObject(value)
    if (tool === undefined) throw invalidRequest(`${path}[${index}]`, 'expected object')
    return decodeTool(tool, undefined, `${path}[${index}]`)
  })
}

function decodeTool(tool: JsonObject, namespace: string | undefined, path: string): Tool[] {
  const type = asString(tool['type'])
  if (type === undefined) throw invalidRequest(`${path}.type`, 'expected string')
  switch (type) {
    case 'function':
      return [decodeFunction(tool, namespace, path)]
    case 'custom':
      return [decodeCustom(tool, namespace, path)]
    case 'namespace':
      return decodeNamespace(tool, path)
    case 'local_shell':
    case 'apply_patch':
      return [clientTool(type, tool)]
    case 'shell':
      // In a container of the vendor's the shell is the vendor's to run.
      return [isHostedShell(tool) ? hostedTool(type, tool) : clientTool('shell', tool)]
    case 'tool_search':
      // Mostly the server runs it. Elsewhere nobody can, and nobody needs it: every deferred tool is sent at once.
      return [tool['execution'] === 'client' ? clientTool('tool_search', tool) : hostedTool(type, tool)]
    default:
      return [hostedTool(type, tool)]
  }
}

function decodeFunction(tool: JsonObject, namespace: string | undefined, path: string): FunctionTool {
  return {
    type: 'function',
    name: toolName(tool, path),
    namespace,
    description: asNonEmpty(tool['description']),
    parameters: asObject(tool['parameters']),
    strict: asBoolean(tool['strict']),
    cache: undefined,
  }
}

function decodeCustom(tool: JsonObject, namespace: string | undefined, path: string): CustomTool {
  const format = asObject(tool['format'])
  const syntax = format?.['syntax'] === 'regex' ? 'regex' : 'lark'
  const definition = asString(format?.['definition'])
  return {
    type: 'custom',
    name: toolName(tool, path),
    namespace,
    description: asNonEmpty(tool['description']),
    grammar: definition === undefined ? undefined : { syntax, definition },
  }
}

/** What the caller says of the group is said of each member: no upstream is told of groups (tools/lower.ts). */
function decodeNamespace(tool: JsonObject, path: string): Tool[] {
  const namespace = toolName(tool, path)
  const about = asNonEmpty(tool['description'])
  return asArray(tool['tools']).flatMap((value, index) => {
    const member = asObject(value)
    const memberPath = `${path}.tools[${index}]`
    if (member === undefined) throw invalidRequest(memberPath, 'expected object')
    const typed = member['type'] === undefined ? { ...member, type: 'function' } : member
    return decodeTool(typed, namespace, memberPath).map(decoded => describedBy(decoded, about))
  })
}

function describedBy(tool: Tool, about: string | undefined): Tool {
  if (about === undefined || (tool.type !== 'function' && tool.type !== 'custom')) return tool
  return { ...tool, description: [tool.description, about].filter(Boolean).join('\n\n') }
}

function toolName(tool: JsonObject, path: string): string {
  const name = asString(tool['name'])
  if (name === undefined || name === '') throw invalidRequest(`${path}.name`, 'expected string')
  return name
}

function clientTool(kind: ClientTool['kind'], wire: JsonObject): ClientTool {
  return { type: 'client', kind, name: kind, format: FORMAT, wireType: kind, wire }
}

function isHostedShell(tool: JsonObject): boolean {
  return asString(asObject(tool['environment'])?.['type'])?.startsWith('container') === true
}

function hostedTool(wireType: string, wire: JsonObject): HostedTool {
  const kind = hostedKind(wireType)
  return {
    type: 'hosted',
    kind,
    format: FORMAT,
    wireType,
    wire,
    webSearch: kind === 'web_search' ? searchSettings(wire) : undefined,
  }
}

/** What a hosted tool of this wire type does. */
export function hostedKind(wireType: string): HostedToolKind {
  if (wireType.startsWith('web_search')) return 'web_search'
  if (wireType === 'file_search') return 'file_search'
  if (wireType === 'code_interpreter') return 'code_execution'
  return 'other'
}

/** The tools as this format writes them; groups are put together again. What it has no word for is a loss. */
export function encodeTools(tools: readonly Tool[], target: Target, losses: Losses): JsonObject[] {
  const written: JsonObject[] = []
  const groups = new Map<string, JsonObject[]>()
  for (const tool of tools) {
    const wire = encodeTool(tool, target, losses)
    if (wire === undefined) continue
    const namespace = 'namespace' in tool ? tool.namespace : undefined
    if (namespace === undefined) {
      written.push(wire)
      continue
    }
    const known = groups.get(namespace)
    if (known !== undefined) known.push(wire)
    else {
      const members = [wire]
      groups.set(namespace, members)
      written.push({ type: 'namespace', name: namespace, description: namespace, tools: members })
    }
  }
  return written
}

function encodeTool(tool: Tool, target: Target, losses: Losses): JsonObject | undefined {
  switch (tool.type) {
    case 'function': {
      if (tool.cache !== undefined) losses.add('cacheMark')
      const parameters = takenParameters(tool.parameters ?? (tool.strict ? NO_PARAMETERS : {}), target)
      const strict = tool.strict === true && canBeStrict(parameters)
      if (tool.strict === true && !strict) losses.add('toolStrict')
      // Silence means true here and false in every other format.
      return present({ type: 'function', name: tool.name, description: tool.description, parameters, strict })
    }
    case 'custom':
      return present({
        type: 'custom',
        name: tool.name,
        description: tool.description,
        format: tool.grammar === undefined ? { type: 'text' } : { type: 'grammar', ...tool.grammar },
      })
    case 'client':
      if (tool.format === FORMAT) return tool.wire
      losses.add('tools', tool.wireType)
      return undefined
    case 'hosted':
      return encodeHosted(tool, losses)
    default:
      return tool satisfies never
  }
}

/** Other servers make grammars of patterns, as they do where they speak Chat. */
function takenParameters(parameters: JsonObject, target: Target): JsonObject {
  const taken = functionParameters(parameters)
  return isOpenais(target) ? taken : wholePatterns(taken)
}

/** Of a strict tool: OpenAI wants to be told that there are no others. */
const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false }

function encodeHosted(tool: HostedTool, losses: Losses): JsonObject | undefined {
  if (tool.format === FORMAT) return tool.wire
  if (tool.kind === 'web_search') return encodeWebSearch(tool, losses)
  if (tool.kind === 'code_execution') {
    losses.addAll(lostSettings(tool, []))
    return { type: 'code_interpreter', container: { type: 'auto' } }
  }
  losses.add('tools', tool.wireType)
  return undefined
}

function encodeWebSearch(tool: HostedTool, losses: Losses): JsonObject {
  const { allowedDomains, userLocation, contextSize } = tool.webSearch ?? NO_SETTINGS
  losses.addAll(lostSettings(tool, ['allowedDomains', 'userLocation', 'contextSize']))
  return present({
    type: 'web_search',
    filters: allowedDomains.length > 0 ? { allowed_domains: [...allowedDomains] } : undefined,
    user_location: userLocation,
    search_context_size: contextSize,
  })
}
