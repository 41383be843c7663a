import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { OfferedTool, Prompt } from '@/simulator/prompt.ts'
import {
  refuseOpenai,
  refuseType,
  requireArray,
  requireObject,
  requireOpenaiName,
  requireString,
  strictSchemaFault,
} from '@/simulator/validate.ts'

/** Adds the tools of the request, or of an item that brings more of them. */
export function addTools(value: JsonValue | undefined, param: string, prompt: Prompt): void {
  if (value === undefined || value === null) return
  for (const [index, entry] of requireArray(value, param).entries()) {
    const tool = requireObject(entry, `${param}[${index}]`)
    prompt.tools.push(...offeredIn(tool, `${param}[${index}]`, undefined))
    prompt.segments.push({ text: JSON.stringify(tool), media: 0, mark: undefined })
  }
}

/** The calls that a tool definition allows; the vendor's own tools allow none that the client would run. */
function offeredIn(tool: JsonObject, param: string, namespace: string | undefined): OfferedTool[] {
  switch (requireString(tool['type'], `${param}.type`)) {
    case 'function':
      return [readFunction(tool, param, namespace)]
    case 'custom':
      return [
        { name: requireOpenaiName(tool['name'], `${param}.name`), namespace, kind: 'custom', schema: {} },
      ]
    case 'namespace': {
      const name = requireOpenaiName(tool['name'], `${param}.name`)
      const members = requireArray(tool['tools'], `${param}.tools`)
      return members.flatMap((member, index) =>
        offeredIn(requireObject(member, `${param}.tools[${index}]`), `${param}.tools[${index}]`, name),
      )
    }
    default:
      return []
  }
}

function readFunction(tool: JsonObject, param: string, namespace: string | undefined): OfferedTool {
  const name = requireOpenaiName(tool['name'], `${param}.name`)
  const schema = tool['parameters'] ?? { type: 'object', properties: {} }
  if (!isJsonObject(schema)) return refuseType(`${param}.parameters`, 'an object', schema)
  const fault = tool['strict'] === true ? strictSchemaFault(schema) : undefined
  const wrongType = schema['type'] !== undefined && schema['type'] !== 'object'
  const message = wrongType
    ? `schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(schema['type'])}'.`
    : fault
  if (message !== undefined)
    refuseOpenai(
      `Invalid schema for function '${name}': ${message}`,
      `${param}.parameters`,
      'invalid_function_parameters',
    )
  return { name, namespace, kind: 'function', schema }
}
