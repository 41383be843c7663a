import { type Read, type ReadFields, unreadInside } from '@/formats/unsaid.ts'
import { asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { decodeModality } from './config-decode.ts'
import { decodeOpaque } from './contents-decode.ts'
import { levelEffort } from './models.ts'

const DATA: ReadFields = {
  inlineData: { mimeType: true, data: true, displayName: true },
  fileData: { mimeType: true, fileUri: true, displayName: true },
}

const THOUGHT: ReadFields = { text: true, thought: true, thoughtSignature: true }

const PART: ReadFields = {
  ...THOUGHT,
  ...DATA,
  functionCall: { name: true, args: true, id: true },
  functionResponse: { name: true, id: true, response: true, parts: DATA },
}

/** What a part says beside its data. */
const BESIDE: ReadFields = { videoMetadata: false, mediaResolution: false, partMetadata: false }

/** A part of a kind that only Gemini has is kept, but for what stands beside it. */
function readOfPart(value: JsonValue): Read {
  const part = asObject(value) ?? {}
  if (part['thought'] === true) return THOUGHT
  const isKnown = Object.keys(PART).some(name => part[name] !== undefined && name !== 'thoughtSignature')
  const kind = isKnown ? undefined : decodeOpaque(part)?.name
  return kind === undefined ? PART : { ...PART, ...allOf(part), ...BESIDE }
}

/** A tool of Google's own is kept whole. */
function readOfTool(tool: JsonValue): Read {
  const declaration = { name: true, description: true, parameters: true, parametersJsonSchema: true }
  return { ...allOf(asObject(tool) ?? {}), functionDeclarations: declaration }
}

function allOf(object: JsonObject): ReadFields {
  return Object.fromEntries(Object.keys(object).map(name => [name, true]))
}

/** Only text is read as an instruction. */
function readOfInstruction(part: JsonValue): Read {
  return asObject(part)?.['text'] !== undefined && { text: true }
}

const INSIDE: ReadFields = {
  contents: { role: true, parts: readOfPart },
  systemInstruction: { role: true, text: true, parts: readOfInstruction },
  tools: readOfTool,
}

const CONFIG: ReadFields = {
  thinkingConfig: {
    includeThoughts: true,
    thinkingBudget: true,
    thinkingLevel: level => levelEffort(asString(level) ?? '') !== undefined,
  },
  responseModalities: modality => decodeModality(modality) !== undefined,
}

const TOOL_CONFIG: ReadFields = { functionCallingConfig: { mode: true, allowedFunctionNames: true } }

/** What fields within others say that no other format is told. @param wire with its keys in camelCase */
export function unsaidFields(wire: JsonObject): string[] {
  return [
    ...unreadInside(wire, INSIDE),
    ...unreadInside(asObject(wire['generationConfig']), CONFIG, 'generationConfig'),
    ...unreadInside(asObject(wire['toolConfig']), TOOL_CONFIG, 'toolConfig'),
  ]
}
