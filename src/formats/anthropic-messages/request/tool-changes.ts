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

/** The tools that the conversation ends with: those of `tools`, with what its system messages bring and without what they take away. */
export function offeredTools(tools: readonly JsonValue[], messages: readonly JsonValue[]): Declared[] {
  const declared = tools.map((tool, index) => ({ wire: asObject(tool) ?? {}, path: `tools[${index}]` }))
  const brought = new Map<JsonValue | undefined, Declared>()
  const removed = new Set<JsonValue | undefined>()
  for (const [index, value] of messages.entries()) {
    const message = asObject(value)
    if (message?.['role'] !== 'system') continue
    for (const [at, block] of asArray(message['content']).entries()) {
      const change = toolChange(asObject(block) ?? {})
      if (change === undefined) continue
      const { name, isOffered, definition: wire } = change
      if (isOffered) removed.delete(name)
      else removed.add(name)
      if (wire === undefined) continue
      brought.set(name, { wire, path: `messages[${index}].content[${at}].tool.definition` })
    }
  }
  const kept = declared.filter(tool => !brought.has(tool.wire['name']))
  return [...kept, ...brought.values()].filter(tool => !removed.has(tool.wire['name']))
}
