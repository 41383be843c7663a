import { decodeContent } from '@/formats/openai-responses/content.ts'
import {
  type MediaPart,
  type TextPart,
  type ToolCallKind,
  type ToolResultPart,
  textPart,
} from '@/generation/part.ts'
import { asArray, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'

const OUTPUT_KINDS: Readonly<Record<string, ToolCallKind>> = {
  function_call_output: 'function',
  custom_tool_call_output: 'custom',
  local_shell_call_output: 'local_shell',
  shell_call_output: 'shell',
  apply_patch_call_output: 'apply_patch',
  computer_call_output: 'computer',
}

/** The kind of call that an item of this type answers; undefined when it answers none. */
export function outputKind(type: string): ToolCallKind | undefined {
  return OUTPUT_KINDS[type]
}

/** The output of a call: text, parts, or a shell's structured output as text. */
export function decodeOutput(item: JsonObject, callId: string, kind: ToolCallKind): ToolResultPart {
  return {
    type: 'tool-result',
    kind,
    callId,
    name: asString(item['name']),
    content: outputContent(item['output']),
    isError: item['status'] === 'incomplete' || item['status'] === 'failed',
    cache: undefined,
  }
}

function outputContent(output: JsonValue | undefined): (TextPart | MediaPart)[] {
  if (output === undefined || output === null) return []
  if (typeof output === 'string') return [textPart(output)]
  const single = asObject(output)
  if (single !== undefined) return [outputPart(single)]
  return asArray(output).map(value => {
    const part = asObject(value)
    return part === undefined ? textPart(asString(value) ?? JSON.stringify(value)) : outputPart(part)
  })
}

function outputPart(part: JsonObject): TextPart | MediaPart {
  const known = decodeContent(part, undefined)
  if (known !== undefined && known.type !== 'refusal') return known
  if (typeof part['stdout'] === 'string' || typeof part['stderr'] === 'string')
    return textPart(shellText(part))
  return textPart(JSON.stringify(part))
}

/** One command's outcome as a model reads it best: what was printed, then how it ended. */
function shellText(part: JsonObject): string {
  const outcome = asObject(part['outcome'])
  const ending =
    outcome?.['type'] === 'timeout'
      ? 'timed out'
      : `exit code: ${String(outcome?.['exit_code'] ?? 'unknown')}`
  const stderr = asString(part['stderr']) ?? ''
  return [asString(part['stdout']) ?? '', stderr === '' ? '' : `stderr:\n${stderr}`, ending]
    .filter(line => line !== '')
    .join('\n')
}
