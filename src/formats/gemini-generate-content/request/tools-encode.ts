import type { Target } from '@/formats/codec.ts'
import { isVertex, type ModelTraits, modelTraits } from '@/formats/gemini-generate-content/models.ts'
import {
  FORMAT,
  type WireSchema,
  type WireTool,
  type WireToolConfig,
} from '@/formats/gemini-generate-content/wire.ts'
import { unsayable } from '@/formats/invalid.ts'
import type { Losses } from '@/formats/losses.ts'
import { objectSchema } from '@/formats/schemas/object-schema.ts'
import type { Repetition } from '@/formats/schemas/repetition.ts'
import { lostSettings } from '@/formats/tools/web-search.ts'
import type { FunctionTool, HostedTool, Tool, ToolChoice } from '@/generation/tool.ts'
import { asString, type JsonObject, present } from '@/json/json.ts'
import { isEmptyObjectSchema, jsonSchema, lowerSchema } from './schema.ts'

/** The tool part of a request. */
interface EncodedTools {
  tools: WireTool[]
  toolConfig: WireToolConfig | undefined
}

/** Tools and the choice among them. What only another vendor's server can run is left out, and said so. */
export function encodeTools(
  tools: readonly Tool[],
  choice: ToolChoice | undefined,
  target: Target,
  losses: Losses,
): EncodedTools {
  const traits = modelTraits(target.model)
  const functions = callable(tools, choice)
  const mayHost = functions.length === 0 || traits.mixedTools
  // The mode that forbids calls is for functions only.
  const offered = choice?.type === 'none' ? functions : tools
  const builtIns = offered.flatMap(tool => {
    const builtIn = tool.type === 'function' ? [] : encodeBuiltIn(tool, mayHost, losses)
    if (builtIn === undefined) losses.add('tools', nameOf(tool))
    return builtIn ?? []
  })
  const repeated: Repetition = { length: 0, nodes: 0 }
  const declarations = functions.map(tool => encodeDeclaration(tool, traits, losses, repeated))
  if (tools.length > 0 && functions.length + builtIns.length === 0 && isForced(choice))
    throw unsayable('toolChoice', 'forces a tool call, but none of the tools can be offered to this model')
  const distinct = new Map(builtIns.map(tool => [JSON.stringify(tool), tool]))
  return {
    tools: [
      ...(declarations.length === 0 ? [] : [{ functionDeclarations: declarations }]),
      ...distinct.values(),
    ],
    toolConfig: encodeToolConfig(choice, functions, [...distinct.values()], target, losses),
  }
}

/** The functions; none where the caller leaves the model a choice of nothing but Google's own tools. */
function callable(tools: readonly Tool[], choice: ToolChoice | undefined): FunctionTool[] {
  const functions = tools.filter(tool => tool.type === 'function')
  if (choice?.type !== 'allowed') return functions
  const allowed = new Set(choice.tools.map(({ name }) => name))
  return functions.some(({ name }) => allowed.has(name)) ? functions : []
}

/** Whoever forces a call relies on it. */
function isForced(choice: ToolChoice | undefined): boolean {
  const force = choice?.type === 'allowed' ? choice.mode : choice?.type
  return force === 'required' || force === 'tool'
}

function nameOf(tool: Tool): string {
  return tool.type === 'hosted' ? tool.wireType : tool.type === 'client' ? tool.wireType : tool.name
}

function encodeDeclaration(
  tool: FunctionTool,
  traits: ModelTraits,
  losses: Losses,
  repeated: Repetition,
): JsonObject {
  if (tool.strict === true) losses.add('toolStrict')
  if (tool.cache !== undefined) losses.add('cacheMark')
  const given = objectSchema(tool.parameters ?? {})
  const schema = isEmptyObjectSchema(given) ? undefined : given
  const plain = schema === undefined || !traits.jsonSchema ? undefined : jsonSchema(schema, repeated)
  const field = plain === undefined ? 'parameters' : 'parametersJsonSchema'
  const parameters = plain ?? (schema === undefined ? undefined : loweredParameters(schema, repeated))
  // What a schema says that is left out, the tool says.
  const told = parameters === undefined ? asString(given['description']) : undefined
  return present({
    name: tool.name,
    description: [tool.description, told].filter(text => text).join('\n\n') || undefined,
    [field]: parameters,
  })
}

/** An object of whatever properties cannot be said here: one that names none is refused. */
function loweredParameters(schema: JsonObject, repeated: Repetition): WireSchema | undefined {
  const lowered = lowerSchema(schema, repeated)
  return lowered.type === 'OBJECT' && lowered.properties === undefined ? undefined : lowered
}

/** A built-in tool; undefined when it cannot be had and is lost. */
function encodeBuiltIn(
  tool: Exclude<Tool, FunctionTool>,
  mayHost: boolean,
  losses: Losses,
): JsonObject[] | undefined {
  if (tool.type === 'custom') return undefined
  if (tool.type === 'client') return tool.format === FORMAT ? [tool.wire] : undefined
  if (!mayHost) return undefined
  if (tool.format === FORMAT) return [tool.wire]
  const name = BUILT_IN[tool.kind]
  if (name === undefined) return undefined
  losses.addAll(lostSettings(tool, []))
  return [{ [name]: {} }]
}

/** Google's tool that does the same as another vendor's. */
const BUILT_IN: Readonly<Record<HostedTool['kind'], keyof WireTool | undefined>> = {
  web_search: 'googleSearch',
  web_fetch: 'urlContext',
  code_execution: 'codeExecution',
  file_search: undefined,
  other: undefined,
}

function encodeToolConfig(
  choice: ToolChoice | undefined,
  functions: readonly FunctionTool[],
  builtIns: readonly WireTool[],
  target: Target,
  losses: Losses,
): WireToolConfig | undefined {
  const config = functionCallingConfig(choice, functions, builtIns, losses)
  // Gemini 3 wants its own tools' calls in the answer when they stand beside functions; Vertex does not know the field.
  const shown = functions.length > 0 && builtIns.length > 0 && !isVertex(target)
  if (config === undefined && !shown) return undefined
  return present({
    functionCallingConfig: config,
    includeServerSideToolInvocations: shown ? true : undefined,
  })
}

function functionCallingConfig(
  choice: ToolChoice | undefined,
  functions: readonly FunctionTool[],
  builtIns: readonly WireTool[],
  losses: Losses,
): JsonObject | undefined {
  if (choice === undefined) return undefined
  if (choice.type === 'tool' && typeof choice.kind === 'object') {
    if (builtIns.length === 0) throw unsayable('toolChoice', 'forces a tool that this upstream does not have')
    losses.add('toolChoice')
    return undefined
  }
  if (functions.length === 0) {
    if (builtIns.length > 0 && isForced(choice)) losses.add('toolChoice')
    return undefined
  }
  switch (choice.type) {
    case 'auto':
      return { mode: 'AUTO' }
    case 'none':
      return { mode: 'NONE' }
    case 'required':
      return { mode: 'ANY' }
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: known([choice.name], functions) }
    case 'allowed': {
      const names = known(
        choice.tools.map(tool => tool.name),
        functions,
      )
      // AUTO takes no names; VALIDATED is AUTO within them.
      return { mode: choice.mode === 'required' ? 'ANY' : 'VALIDATED', allowedFunctionNames: names }
    }
    default:
      return choice satisfies never
  }
}

function known(names: readonly string[], functions: readonly FunctionTool[]): string[] {
  const declared = new Set(functions.map(tool => tool.name))
  const found = names.filter(name => declared.has(name))
  if (found.length === 0) throw unsayable('toolChoice', 'names a tool that is not among the tools')
  return found
}
