import { wholePatterns } from '@/formats/openai/plain-schema.ts'
import { functionParameters } from '@/formats/openai/schemas.ts'
import { canBeStrict } from '@/formats/openai/strict-schema.ts'
import { FORMAT } from '@/formats/openai-chat-completions/wire.ts'
import { lostSettings, NO_SETTINGS } from '@/formats/tools/web-search.ts'
import type { CustomTool, FunctionTool, HostedTool, Tool, ToolChoice } from '@/generation/tool.ts'
import { asObject, type JsonObject, present } from '@/json/json.ts'
import { moonshotParameters } from './moonshot-schema.ts'
import type { TargetRules } from './target-rules.ts'

const SEARCH_OPTIONS = 'web_search_options'

/** Whether a hosted tool can be asked for: one of this format's own, or a search at a model that searches. */
export function canServe(tool: HostedTool, rules: TargetRules): boolean {
  if (tool.kind === 'web_search' && rules.model.isSearch) return true
  return tool.format === FORMAT && tool.wireType !== SEARCH_OPTIONS
}

/** Writes the tools that stand in `tools`, in the caller's order. */
export function encodeTools(tools: readonly Tool[], rules: TargetRules): JsonObject[] {
  return tools.flatMap(tool => {
    switch (tool.type) {
      case 'function':
        return [functionTool(tool, rules)]
      case 'custom':
        return [customTool(tool)]
      case 'hosted':
        return tool.format === FORMAT && tool.wireType !== SEARCH_OPTIONS ? [tool.wire] : []
      case 'client':
        // Lowered to a function before, else nobody upstream would know what to call.
        rules.losses.add('tools', tool.wireType)
        return []
      default:
        return tool satisfies never
    }
  })
}

function functionTool(tool: FunctionTool, rules: TargetRules): JsonObject {
  const { name, description } = tool
  const parameters = tool.parameters && takenParameters(tool.parameters, rules)
  const isTooLoose = tool.strict === true && rules.isServedByOpenai && !canBeStrict(parameters ?? {})
  if (isTooLoose) rules.losses.add('toolStrict')
  return {
    type: 'function',
    function: present({
      name,
      description,
      parameters,
      strict: isTooLoose ? false : tool.strict,
    }),
    // OpenAI's breakpoints stand on content parts only.
    ...(rules.vendor.isOpenrouter ? rules.cacheFields(tool.cache) : lostMark(tool, rules)),
  }
}

/** OpenRouter and other gateways serve OpenAI's models, too, and hand their refusal on. */
function takenParameters(parameters: JsonObject, { vendor, model }: TargetRules): JsonObject {
  if (vendor.isMoonshot) return moonshotParameters(parameters)
  const isOpenais = vendor.isOpenai || vendor.isOpenrouter || model.isOpenais
  return isOpenais ? functionParameters(parameters) : wholePatterns(parameters)
}

function lostMark(tool: FunctionTool, rules: TargetRules): JsonObject {
  if (tool.cache !== undefined) rules.losses.add('cacheMark')
  return {}
}

function customTool(tool: CustomTool): JsonObject {
  const { name, description, grammar } = tool
  return {
    type: 'custom',
    custom: present({ name, description, format: grammar && { type: 'grammar', grammar: { ...grammar } } }),
  }
}

/** The options of a search model; undefined when no search was asked for. */
export function searchOptions(tools: readonly Tool[], rules: TargetRules): JsonObject | undefined {
  const search = tools.find(tool => tool.type === 'hosted' && tool.kind === 'web_search')
  if (search?.type !== 'hosted' || !rules.model.isSearch) return undefined
  if (search.format === FORMAT) return search.wireType === SEARCH_OPTIONS ? search.wire : undefined
  rules.losses.addAll(lostSettings(search, ['userLocation', 'contextSize']))
  const { contextSize, userLocation } = search.webSearch ?? NO_SETTINGS
  const { type: _, ...location } = userLocation ?? {}
  const approximate = asObject(location['approximate']) ?? location
  const isPlaced = Object.keys(approximate).length > 0
  return present({
    search_context_size: contextSize,
    user_location: isPlaced ? { type: 'approximate', approximate } : undefined,
  })
}

/** Writes `tool_choice`; undefined where the format has no word for it. */
export function encodeToolChoice(
  choice: ToolChoice,
  tools: readonly Tool[],
): string | JsonObject | undefined {
  switch (choice.type) {
    case 'auto':
    case 'none':
    case 'required':
      return choice.type
    case 'tool':
      if (typeof choice.kind !== 'string') return hostedChoice(choice.kind.wireType)
      return choice.kind === 'custom' ? named('custom', choice.name) : named('function', choice.name)
    case 'allowed': {
      const custom = new Set(tools.flatMap(tool => (tool.type === 'custom' ? tool.name : [])))
      const allowed = choice.tools.map(({ name }) => named(custom.has(name) ? 'custom' : 'function', name))
      return { type: 'allowed_tools', allowed_tools: { mode: choice.mode, tools: allowed } }
    }
    default:
      return choice satisfies never
  }
}

function named(kind: 'function' | 'custom', name: string): JsonObject {
  return { type: kind, [kind]: { name } }
}

/** A search model searches anyway; other vendors' tools are named by their type. */
function hostedChoice(wireType: string): JsonObject | undefined {
  return wireType === SEARCH_OPTIONS ? undefined : { type: wireType }
}
