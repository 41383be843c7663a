import { asArray, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'

/** A tool as it was declared, and where. */
interface Declared {
  wire: JsonObject
  path: string
}

/** What a block of a system message changes about the tools from there on. */
interface ToolChange {
  name: string
  isOffered: boolean
  /** A tool that was not known before, or is from there on another one. */
  definition: JsonObject | undefined
}

/** Undefined: a block that changes no tool, or a tool of a kind that no other vendor has (those of an MCP server). */
export function toolChange(block: JsonObject): ToolChange | undefined {
  const { type } = block
  if (type !== 'tool_addition' && type !== 'tool_removal') return undefined
  const tool = asObject(block['tool']) ?? {}
  const definition = tool['type'] === 'tool_definition' ? asObject(tool['definition']) : undefined
  const reference = tool['type'] === 'tool_reference' ? tool : definition
  const name = asString(reference?.['name'])
  return name === undefined ? undefined : { name, isOffered: type === 'tool_addition', definition }
}

/** The tools that the conversation ends with: those of `tools`, with what its messages bring and without what they take away. */
export function offeredTools(tools: readonly JsonValue[], messages: readonly JsonValue[]): Declared[] {
  const { known, removed } = toolsAfter(tools, messages)
  return known.filter(tool => !removed.has(tool.wire['name']))
}

/** Whether a tool is offered by a name that no tool has: no other format can be told of it. */
export function offersUnknown(tools: readonly JsonValue[], messages: readonly JsonValue[]): boolean {
  const { known, named } = toolsAfter(tools, messages)
  return [...named].some(name => !known.some(tool => tool.wire['name'] === name))
}

function toolsAfter(tools: readonly JsonValue[], messages: readonly JsonValue[]) {
  const declared = tools.map((tool, index) => ({ wire: asObject(tool) ?? {}, path: `tools[${index}]` }))
  const brought = new Map<JsonValue | undefined, Declared>()
  const removed = new Set<JsonValue | undefined>()
  const named = new Set<string>()
  for (const { block, path } of changeBlocks(messages)) {
    const change = toolChange(block)
    if (change === undefined) continue
    const { name, isOffered, definition: wire } = change
    if (isOffered) removed.delete(name)
    else removed.add(name)
    if (wire !== undefined) brought.set(name, { wire, path: `${path}.tool.definition` })
    else if (isOffered) named.add(name)
  }
  const known = [...declared.filter(tool => !brought.has(tool.wire['name'])), ...brought.values()]
  return { known, removed, named }
}

/** Blocks that may change tools: those of system messages, and what a compaction says of the messages that it stands for. */
function changeBlocks(messages: readonly JsonValue[]): { block: JsonObject; path: string }[] {
  return messages.flatMap((value, index) => {
    const message = asObject(value)
    const blocks = placed(message?.['content'], `messages[${index}].content`)
    if (message?.['role'] === 'system') return blocks
    return blocks
      .filter(({ block }) => block['type'] === 'compaction')
      .flatMap(({ block, path }) => placed(block['tool_changes'], `${path}.tool_changes`))
  })
}

function placed(list: JsonValue | undefined, path: string): { block: JsonObject; path: string }[] {
  return asArray(list).map((block, at) => ({ block: asObject(block) ?? {}, path: `${path}[${at}]` }))
}
