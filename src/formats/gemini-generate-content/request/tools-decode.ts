import { FORMAT } from '@/formats/gemini-generate-content/wire.ts'
import { NO_SETTINGS } from '@/formats/tools/web-search.ts'
import type { HostedToolKind, Tool, ToolChoice } from '@/generation/tool.ts'
import {
  asArray,
  asNonEmpty,
  asObject,
  asString,
  asStrings,
  isKeyOf,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import { liftSchema } from './openapi-schema.ts'

/** A caller's `tools`: the declared functions, and one tool for each built-in beside them. */
export function decodeTools(tools: readonly JsonValue[]): Tool[] {
  return tools.flatMap(value => {
    const { functionDeclarations, ...builtIns } = asObject(value) ?? {}
    const functions = asArray(functionDeclarations).map(item => decodeFunction(asObject(item) ?? {}))
    return [
      ...functions,
      ...Object.entries(builtIns).map(([name, settings]) => decodeBuiltIn(name, settings)),
    ]
  })
}

function decodeFunction(declaration: JsonObject): Tool {
  const openapi = asObject(declaration['parameters'])
  return {
    type: 'function',
    name: asString(declaration['name']) ?? '',
    namespace: undefined,
    description: asNonEmpty(declaration['description']),
    parameters:
      asObject(declaration['parametersJsonSchema']) ??
      (openapi === undefined ? undefined : liftSchema(openapi)),
    strict: undefined,
    cache: undefined,
  }
}

const BUILT_INS = {
  googleSearch: 'web_search',
  googleSearchRetrieval: 'web_search',
  enterpriseWebSearch: 'web_search',
  urlContext: 'web_fetch',
  codeExecution: 'code_execution',
  fileSearch: 'file_search',
  retrieval: 'file_search',
} as const satisfies Record<string, HostedToolKind>

function decodeBuiltIn(name: string, settings: JsonValue | undefined): Tool {
  const wire: JsonObject = { [name]: settings }
  // The client moves the mouse; its calls are plain functionCall parts.
  if (name === 'computerUse') {
    return { type: 'client', kind: 'function', name, format: FORMAT, wireType: name, wire }
  }
  const kind = isKeyOf(BUILT_INS, name) ? BUILT_INS[name] : 'other'
  const blocked = asStrings(asObject(settings)?.['excludeDomains'])
  const webSearch = kind === 'web_search' ? { ...NO_SETTINGS, blockedDomains: blocked } : undefined
  return { type: 'hosted', kind, format: FORMAT, wireType: name, wire, webSearch }
}

/** Modes by their number in the proto, for callers that encode enums so. */
const MODES = ['MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED']

/** `toolConfig.functionCallingConfig` as a choice; undefined where it says nothing. */
export function decodeToolChoice(config: JsonObject | undefined): ToolChoice | undefined {
  const mode = config?.['mode']
  const names = asStrings(config?.['allowedFunctionNames'])
  const tools = names.map(name => ({ name, namespace: undefined }))
  switch (typeof mode === 'number' ? MODES[mode] : asString(mode)?.toUpperCase()) {
    case 'AUTO':
      return { type: 'auto' }
    case 'NONE':
      return { type: 'none' }
    case 'VALIDATED':
      return tools.length === 0 ? { type: 'auto' } : { type: 'allowed', mode: 'auto', tools }
    case 'ANY': {
      const [only] = names
      if (only === undefined) return { type: 'required' }
      if (names.length > 1) return { type: 'allowed', mode: 'required', tools }
      return { type: 'tool', name: only, namespace: undefined, kind: 'function' }
    }
    default:
      return undefined
  }
}
