import type { JsonObject, JsonValue } from '@/json/json.ts'
import {
  readFunction,
  requireArray,
  requireObjects,
  requireOpenaiName,
  requireString,
} from '@/simulator/openai/validate.ts'
import { addText, type OfferedTool, type Prompt } from '@/simulator/prompt.ts'

/** Adds the tools of the request, or of an item that brings more of them. */
export function addTools(value: JsonValue | undefined, param: string, prompt: Prompt): void {
  if (value === undefined || value === null) return
  for (const [tool, place] of requireObjects(requireArray(value, param), param)) {
    prompt.tools.push(...offeredIn(tool, place, undefined))
    addText(prompt, JSON.stringify(tool))
  }
}

/** The calls that a tool definition allows; the vendor's own tools allow none that the client would run. */
function offeredIn(tool: JsonObject, param: string, namespace: string | undefined): OfferedTool[] {
  switch (requireString(tool['type'], `${param}.type`)) {
    case 'function':
      return [{ ...readFunction(tool, param), namespace, kind: 'function' }]
    case 'custom':
      return [
        { name: requireOpenaiName(tool['name'], `${param}.name`), namespace, kind: 'custom', schema: {} },
      ]
    case 'namespace': {
      const name = requireOpenaiName(tool['name'], `${param}.name`)
      const members = requireArray(tool['tools'], `${param}.tools`)
      return requireObjects(members, `${param}.tools`).flatMap(([member, at]) => offeredIn(member, at, name))
    }
    default:
      return []
  }
}
