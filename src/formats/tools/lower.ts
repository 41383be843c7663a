import type { ToolNameRule } from '@/formats/codec.ts'
import type { Loss } from '@/generation/loss.ts'
import type { ToolCallKind, ToolCallPart } from '@/generation/part.ts'
import type { GenerationRequest, Turn } from '@/generation/request.ts'
import type { CustomTool, FunctionTool, Tool, ToolChoice } from '@/generation/tool.ts'
import { type ArgumentNames, fitParameters } from './argument-names.ts'
import { clientDeclaration } from './client-schemas.ts'
import { identityKey, type ToolIdentity, ToolNames, type ToolTable } from './names.ts'

/** A request with nothing but plain functions (and what the target may keep), and the way back. */
interface LoweredTools {
  request: GenerationRequest
  /** What `raiseTools` needs to give the answer's calls their own names and kinds back. */
  table: ToolTable
  losses: Loss[]
}

/**
 * Writes a request so that an upstream that knows nothing but plain functions can serve it: custom and client tools
 * become functions, namespaces part of the name, names fit the rule, those of arguments as well; the conversation's
 * calls and the tool choice follow. Hosted tools stay as they are (hosted.ts). No tool is ever left out, for an agent
 * that loses one falls silent. A request with nothing to lower comes back itself.
 *
 * @param keepsCustom the upstream knows custom tools, and holds the model to their grammar: those outside of a group,
 *   whose name fits, stay what they are.
 * @throws GatewayError `unsupported_parameter` for a client tool that no function can stand for.
 */
export function lowerTools(
  request: GenerationRequest,
  rule: ToolNameRule,
  keepsCustom = false,
): LoweredTools {
  const { tools, losses } = firstOfEach(request.tools)
  const names = new ToolNames(
    tools.flatMap(tool => identityOf(tool) ?? []),
    rule,
    new Set(tools.flatMap(tool => (tool.type === 'hosted' ? (rule.hosted?.(tool) ?? []) : []))),
  )
  const argumentNames = new Map<string, ArgumentNames>()
  const lowered = {
    tools: mapKept(tools, tool => fitArguments(lowerTool(tool, names, keepsCustom), rule, argumentNames)),
    turns: lowerTurns(request.turns, { names, argumentNames, keepsCustom }),
    toolChoice: lowerChoice(request.toolChoice, names, keepsCustom),
  }
  const same =
    lowered.tools === request.tools &&
    lowered.turns === request.turns &&
    lowered.toolChoice === request.toolChoice
  return {
    request: same ? request : { ...request, ...lowered },
    table: { origins: names.origins(), argumentNames },
    losses,
  }
}

/** Undefined for hosted tools, which the model does not call by a name of ours. */
function identityOf(tool: Tool): ToolIdentity | undefined {
  switch (tool.type) {
    case 'function':
    case 'custom':
      return { kind: tool.type, name: tool.name, namespace: tool.namespace }
    case 'client':
      return { kind: tool.kind, name: tool.name, namespace: undefined }
    case 'hosted':
      return undefined
    default:
      return tool satisfies never
  }
}

/**
 * A tool that is defined again later in the input (`additional_tools`) counts once, so that the prompt's head stays. What
 * it then says otherwise is a loss.
 */
function firstOfEach(tools: readonly Tool[]): { tools: readonly Tool[]; losses: Loss[] } {
  const first = new Map<string, Tool>()
  const losses: Loss[] = []
  for (const tool of tools) {
    const identity = identityOf(tool)
    const key = identity === undefined ? JSON.stringify(tool) : identityKey(identity)
    const known = first.get(key)
    if (known === undefined) first.set(key, tool)
    else if (identity !== undefined && !Bun.deepEquals(known, tool))
      losses.push({ field: 'tools', name: identity.name })
  }
  return { tools: first.size === tools.length ? tools : [...first.values()], losses }
}

/** `map` that gives the same list back when nothing in it changed. */
function mapKept<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  const changed = list.map(change)
  return changed.every((item, index) => item === list[index]) ? list : changed
}

/** Whether a custom tool, or what speaks of it, can stay as it is. */
function isKept({ kind, name, namespace }: ToolIdentity, names: ToolNames, keepsCustom: boolean): boolean {
  const isFree = keepsCustom && kind === 'custom' && namespace === undefined
  return isFree && names.of({ kind, name, namespace }) === name
}

function lowerTool(tool: Tool, names: ToolNames, keepsCustom: boolean): Tool {
  const identity = identityOf(tool)
  if (identity === undefined) return tool
  const name = names.of(identity)
  switch (tool.type) {
    case 'function':
      return name === tool.name && tool.namespace === undefined
        ? tool
        : { ...tool, name, namespace: undefined }
    case 'custom':
      if (isKept(identity, names, keepsCustom)) return tool
      return { ...functionTool(name), description: customDescription(tool), parameters: customParameters() }
    case 'client':
      return { ...functionTool(name), ...clientDeclaration(tool) }
    case 'hosted':
      return tool
    default:
      return tool satisfies never
  }
}

/** @param found where the names of arguments are kept that do not fit */
function fitArguments(tool: Tool, { argument }: ToolNameRule, found: Map<string, ArgumentNames>): Tool {
  if (argument === undefined || tool.type !== 'function' || tool.parameters === undefined) return tool
  const fitted = fitParameters(tool.parameters, argument)
  if (fitted === undefined) return tool
  found.set(tool.name, fitted.names)
  return { ...tool, parameters: fitted.parameters }
}

function functionTool(name: string): FunctionTool {
  return {
    type: 'function',
    name,
    namespace: undefined,
    description: undefined,
    parameters: undefined,
    strict: undefined,
    cache: undefined,
  }
}

function customParameters(): FunctionTool['parameters'] {
  return {
    type: 'object',
    properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
    required: ['input'],
    additionalProperties: false,
  }
}

/** The description with the grammar under it: without the vendor's enforcement the model must read it. */
function customDescription(tool: CustomTool): string | undefined {
  if (tool.grammar === undefined) return tool.description
  const { syntax, definition } = tool.grammar
  const form = syntax === 'lark' ? 'Lark grammar' : 'regular expression'
  const rule = `The value of \`input\` must match this ${form}:\n${definition}`
  return tool.description === undefined ? rule : `${tool.description}\n\n${rule}`
}

/** How the tools of a request are called upstream. */
interface Lowering {
  names: ToolNames
  argumentNames: ReadonlyMap<string, ArgumentNames>
  keepsCustom: boolean
}

/** Results take the name and the kind of their call where they are paired with it (paired-turns.ts). */
function lowerTurns(turns: readonly Turn[], lowering: Lowering): readonly Turn[] {
  return mapKept(turns, turn => {
    const parts = mapKept(turn.parts, part => (part.type === 'tool-call' ? lowerCall(part, lowering) : part))
    return parts === turn.parts ? turn : { ...turn, parts }
  })
}

function lowerCall(part: ToolCallPart, { names, argumentNames, keepsCustom }: Lowering): ToolCallPart {
  const { kind, name, namespace } = part
  const identity = { kind, name, namespace }
  if (isKept(identity, names, keepsCustom)) return part
  const plain = names.of(identity)
  const input =
    kind === 'custom'
      ? JSON.stringify({ input: part.input })
      : (argumentNames.get(plain)?.fit(part.input) ?? part.input)
  if (kind === 'function' && plain === name && namespace === undefined && input === part.input) return part
  return { ...part, kind: 'function', name: plain, namespace: undefined, input }
}

function lowerChoice(
  choice: ToolChoice | undefined,
  names: ToolNames,
  keepsCustom: boolean,
): ToolChoice | undefined {
  if (choice?.type === 'tool') {
    const { kind, name: called, namespace } = choice
    if (typeof kind === 'object' || isKept({ kind, name: called, namespace }, names, keepsCustom))
      return choice
    const name = names.ofChoice({ kind, name: called, namespace })
    const same = kind === 'function' && name === called && namespace === undefined
    return same ? choice : { type: 'tool', kind: FUNCTION, name, namespace: undefined }
  }
  if (choice?.type === 'allowed') {
    const tools = mapKept(choice.tools, tool => {
      const name = names.ofChoice({ kind: FUNCTION, ...tool })
      return name === tool.name && tool.namespace === undefined ? tool : { name, namespace: undefined }
    })
    return tools === choice.tools ? choice : { ...choice, tools }
  }
  return choice
}

const FUNCTION: ToolCallKind = 'function'
