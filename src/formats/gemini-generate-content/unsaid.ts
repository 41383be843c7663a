import { unknownFields } from '@/formats/unsaid.ts'
import { asArray, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { decodeModality } from './config-decode.ts'
import { levelEffort } from './models.ts'

const THINKING: ReadonlySet<string> = new Set(['includeThoughts', 'thinkingBudget', 'thinkingLevel'])
const CALLING: ReadonlySet<string> = new Set(['mode', 'allowedFunctionNames'])
const DECLARATION: ReadonlySet<string> = new Set([
  ...['name', 'description', 'parameters', 'parametersJsonSchema'],
])
/** What a part says beside its data. */
const BESIDE = ['videoMetadata', 'mediaResolution', 'partMetadata'] as const

/** What inner fields of a request say that no other format is told. @param wire with its keys in camelCase */
export function unsaidFields(wire: JsonObject): string[] {
  return [
    ...unsaidConfig(asObject(wire['generationConfig'])),
    ...unknownFields(
      asObject(asObject(wire['toolConfig'])?.['functionCallingConfig']),
      CALLING,
      'toolConfig.functionCallingConfig',
    ),
    ...asArray(wire['tools'])
      .flatMap(tool => asArray(asObject(tool)?.['functionDeclarations']))
      .flatMap(item => unknownFields(asObject(item), DECLARATION, 'tools.functionDeclarations')),
    ...unsaidParts(asArray(wire['contents'])),
    ...unsaidInstructions(asObject(wire['systemInstruction'])),
  ]
}

function unsaidConfig(config: JsonObject | undefined): string[] {
  const thinking = asObject(config?.['thinkingConfig'])
  const unsaid = unknownFields(thinking, THINKING, 'generationConfig.thinkingConfig')
  const level = thinking?.['thinkingLevel']
  if (level !== undefined && levelEffort(asString(level) ?? '') === undefined)
    unsaid.push('generationConfig.thinkingConfig.thinkingLevel')
  if (asArray(config?.['responseModalities']).some(kind => decodeModality(kind) === undefined))
    unsaid.push('generationConfig.responseModalities')
  return unsaid
}

function unsaidParts(contents: readonly JsonValue[]): string[] {
  const found = new Set<string>()
  for (const content of contents) {
    for (const part of asArray(asObject(content)?.['parts'])) {
      const wire = asObject(part) ?? {}
      for (const name of BESIDE) if (wire[name] !== undefined) found.add(`contents.parts.${name}`)
    }
  }
  return [...found]
}

/** Only text is read as an instruction. */
function unsaidInstructions(content: JsonObject | undefined): string[] {
  const parts = asArray(content?.['parts'])
  return parts.some(part => asObject(part)?.['text'] === undefined) ? ['systemInstruction.parts'] : []
}
