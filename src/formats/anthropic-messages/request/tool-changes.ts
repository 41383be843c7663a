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

/**
 * What a block of a system message changes about the tools; undefined for one that changes none, or a tool of a kind that no
 * other vendor has (those of an MCP server).
 */
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
  for (const { name, isOffered, definition: wire, path } of changesIn(messages)) {
    if (isOffered) removed.delete(name)
    else removed.add(name)
    if (wire !== undefined) brought.set(name, { wire, path: `${path}.tool.definition` })
    else if (isOffered) named.add(name)
  }
  const known = [...declared.filter(tool => !brought.has(tool.wire['name'])), ...brought.values()]
  return { known, removed, named }
}

/** Those of system messages, and what a compaction says of the messages that it stands for. */
function changesIn(messages: readonly JsonValue[]): (ToolChange & { path: string })[] {
  const found: (ToolChange & { path: string })[] = []
  const look = (blocks: readonly JsonValue[], pathOf: () => string) => {
    blocks.forEach((value, at) => {
      const change = toolChange(asObject(value) ?? {})
      if (change !== undefined) found.push({ ...change, path: `${pathOf()}[${at}]` })
    })
  }
  messages.forEach((value, index) => {
    const message = asObject(value)
    const blocks = asArray(message?.['content'])
    if (message?.['role'] === 'system') look(blocks, () => `messages[${index}].content`)
    else {
      blocks.forEach((block, at) => {
        const wire = asObject(block)
        if (wire?.['type'] !== 'compaction') return
        look(asArray(wire['tool_changes']), () => `messages[${index}].content[${at}].tool_changes`)
      })
    }
  })
  return found
}
