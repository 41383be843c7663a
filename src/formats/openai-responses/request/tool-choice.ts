import { invalidRequest, unsayable } from '@/formats/invalid.ts'
import type { Losses } from '@/formats/losses.ts'
import type { Tool, ToolChoice } from '@/generation/tool.ts'
import { asArray, asObject, asString, type JsonObject, type JsonValue, present } from '@/json/json.ts'
import { hostedKind } from './tools.ts'

/**
 * The caller's `tool_choice`.
 * @throws GatewayError `invalid_request` when it forces a tool that is not there: nothing could answer it.
 */
export function decodeToolChoice(
  wire: JsonValue | undefined,
  tools: readonly Tool[],
): ToolChoice | undefined {
  if (wire === undefined || wire === null) return undefined
  if (wire === 'auto' || wire === 'none' || wire === 'required') return { type: wire }
  const choice = asObject(wire)
  const type = asString(choice?.['type'])
  if (choice === undefined || type === undefined) throw invalidRequest('tool_choice', 'unknown choice')
  switch (type) {
    case 'auto':
    case 'none':
    case 'required':
      return { type }
    case 'allowed_tools':
      return decodeAllowed(choice)
    case 'function':
    case 'custom':
      return decodeNamed(choice, type, tools)
    case 'local_shell':
    case 'shell':
    case 'apply_patch':
    case 'tool_search':
      return { type: 'tool', name: type, namespace: undefined, kind: type }
    default:
      return {
        type: 'tool',
        name: asString(choice['server_label']) ?? type,
        namespace: undefined,
        kind: { hosted: hostedKind(type), wireType: type },
      }
  }
}

function decodeAllowed(choice: JsonObject): ToolChoice {
  return {
    type: 'allowed',
    mode: choice['mode'] === 'required' ? 'required' : 'auto',
    tools: asArray(choice['tools']).flatMap(value => {
      const tool = asObject(value)
      const name = asString(tool?.['name']) ?? asString(tool?.['server_label']) ?? asString(tool?.['type'])
      return name === undefined ? [] : [{ name, namespace: asString(tool?.['namespace']) }]
    }),
  }
}

function decodeNamed(choice: JsonObject, kind: 'function' | 'custom', tools: readonly Tool[]): ToolChoice {
  const name = asString(choice['name'])
  if (name === undefined) throw invalidRequest('tool_choice.name', 'expected string')
  const namespace = asString(choice['namespace'])
  const tool = tools.find(
    candidate =>
      (candidate.type === 'function' || candidate.type === 'custom') &&
      candidate.name === name &&
      (namespace === undefined || candidate.namespace === namespace),
  )
  if (tool === undefined || tool.type === 'hosted' || tool.type === 'client') {
    throw invalidRequest('tool_choice', `tool '${name}' is not in 'tools'`)
  }
  return { type: 'tool', name, namespace: tool.namespace, kind }
}

/**
 * The choice as this format writes it, for an upstream that was given these tools.
 * @param unchosen those of them that a choice of several does not speak of
 */
export function encodeToolChoice(
  choice: ToolChoice | undefined,
  tools: readonly JsonObject[],
  unchosen: readonly JsonObject[],
  losses: Losses,
): JsonValue | undefined {
  if (choice === undefined) return undefined
  if (tools.length === 0) {
    if (choice.type === 'tool') throw unsayable('toolChoice', 'names a tool that the upstream does not have')
    return undefined
  }
  switch (choice.type) {
    case 'auto':
    case 'none':
    case 'required':
      return choice.type
    case 'tool':
      return encodeNamed(choice, tools)
    case 'allowed':
      return encodeAllowed(choice, tools, choice.mode === 'auto' ? unchosen : [], losses)
    default:
      return choice satisfies never
  }
}

function encodeNamed(
  choice: Extract<ToolChoice, { type: 'tool' }>,
  tools: readonly JsonObject[],
): JsonObject {
  if (choice.kind === 'function' || choice.kind === 'custom') {
    return present({ type: choice.kind, name: choice.name, namespace: choice.namespace })
  }
  if (typeof choice.kind === 'string') return { type: choice.kind }
  const { hosted, wireType } = choice.kind
  const written = tools.find(tool => {
    const type = asString(tool['type']) ?? ''
    return type === wireType || (hosted !== 'other' && hostedKind(type) === hosted)
  })
  if (written === undefined)
    throw unsayable('toolChoice', `names '${wireType}', which the upstream does not have`)
  const type = asString(written['type']) ?? wireType
  return type === 'mcp' ? { type, server_label: choice.name } : { type }
}

function encodeAllowed(
  choice: Extract<ToolChoice, { type: 'allowed' }>,
  tools: readonly JsonObject[],
  unchosen: readonly JsonObject[],
  losses: Losses,
): JsonValue {
  const named = placesBy('name', tools)
  const typed = placesBy('type', tools)
  const allowed = choice.tools.flatMap(({ name, namespace }): JsonObject[] => {
    const none = tools.length
    const tool = tools[Math.min(named.get(namespace ?? name) ?? none, typed.get(name) ?? none)]
    if (tool === undefined) return []
    const type = asString(tool['type']) ?? 'function'
    if (type === 'namespace') return [present({ type: 'function', name, namespace })]
    return [tool['name'] === undefined ? { type } : { type, name }]
  })
  const beside = unchosen.map(({ type = null }) => ({ type }))
  if (allowed.length > 0) return { type: 'allowed_tools', mode: choice.mode, tools: [...allowed, ...beside] }
  losses.add('toolChoice')
  return choice.mode
}

/** Where the first tool stands that has each value in a field. */
function placesBy(field: 'name' | 'type', tools: readonly JsonObject[]): Map<JsonValue | undefined, number> {
  const places = tools.map((tool, place) => [tool[field], place] as const)
  return new Map(places.toReversed())
}
