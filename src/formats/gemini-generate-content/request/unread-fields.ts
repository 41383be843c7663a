import { DATA, decodeOpaque } from '@/formats/gemini-generate-content/contents-decode.ts'
import { decodeMedia } from '@/formats/gemini-generate-content/media.ts'
import { levelEffort } from '@/formats/gemini-generate-content/models.ts'
import {
  allOf,
  list,
  object,
  oneOf,
  type Read,
  type ReadFields,
  unreadInside,
} from '@/formats/unread-fields.ts'
import { asObject, asString, isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { decodeModality } from './config-decode.ts'
import { decodeToolChoice } from './tools-decode.ts'

/** Only documents have names elsewhere. */
function readOfData(part: JsonValue): ReadFields {
  const displayName = decodeMedia(asObject(part) ?? {})?.kind === 'document'
  return {
    inlineData: { mimeType: true, data: true, displayName },
    fileData: { mimeType: true, fileUri: true, displayName },
  }
}

const THOUGHT: ReadFields = { text: true, thought: true, thoughtSignature: true }

const PART: ReadFields = {
  ...THOUGHT,
  functionCall: { name: true, args: true, id: true },
  functionResponse: { name: true, id: true, response: true, parts: list(readOfData) },
}

/** What a part says beside its data. */
const BESIDE: ReadFields = { videoMetadata: false, mediaResolution: false, partMetadata: false }

/** A part of a kind that only Gemini has is kept, but for what stands beside it. */
function readOfPart(value: JsonValue): Read {
  const part = asObject(value) ?? {}
  if (part['thought'] === true) return THOUGHT
  const known = { ...PART, ...readOfData(part), ...othersThanRead(part) }
  const isKnown = Object.keys(known).some(name => part[name] !== undefined && name !== 'thoughtSignature')
  const kind = isKnown ? undefined : decodeOpaque(part)?.name
  return kind === undefined ? known : { ...known, ...allOf(part), ...BESIDE }
}

/** A part holds one thing; of several that Google would refuse the first is read. */
function othersThanRead(part: JsonObject): ReadFields {
  const [, ...others] = DATA.filter(name => asObject(part[name]) !== undefined)
  return Object.fromEntries(others.map(name => [name, false]))
}

/** A tool of Google's own is kept whole. */
function readOfTool(tool: JsonValue): Read {
  const declaration = { name: true, description: true, parameters: true, parametersJsonSchema: true }
  return { ...allOf(tool), functionDeclarations: list(declaration), ...SEARCHES }
}

const SEARCHES: ReadFields = { googleSearch: readOfSearch, enterpriseWebSearch: readOfSearch }

function readOfSearch(search: JsonValue): Read {
  if (!isJsonObject(search)) return 'object'
  return { ...allOf(search), excludeDomains: list('string'), searchTypes: 'object' }
}

/** One or a list of them; what is no text is judged elsewhere. */
function readOfFormat(format: JsonValue): Read {
  if (Array.isArray(format)) return list(readOfFormat)
  if (!isJsonObject(format)) return 'object'
  return { ...allOf(format), text: object({ mimeType: 'string', schema: 'object' }) }
}

/** Only text is read as an instruction. */
function readOfInstruction(part: JsonValue): Read {
  return asObject(part)?.['text'] !== undefined && { text: true, thought: oneOf(false) }
}

const INSIDE: ReadFields = {
  contents: list({ role: true, parts: list(readOfPart) }),
  systemInstruction: { role: 'string', text: true, parts: list(readOfInstruction) },
  tools: list(readOfTool),
}

const CONFIG: ReadFields = {
  thinkingConfig: {
    includeThoughts: true,
    thinkingBudget: true,
    thinkingLevel: level => isSilent(level) || levelEffort(asString(level) ?? '') !== undefined,
  },
  responseFormat: readOfFormat,
  responseModalities: list(modality => isSilent(modality) || decodeModality(modality) !== undefined),
}

/** What an enum of the API says where nothing is said, by name or number. */
function isSilent(value: JsonValue): boolean {
  return value === 0 || (typeof value === 'string' && value.endsWith('_UNSPECIFIED'))
}

function readOfChoice(config: JsonValue): ReadFields {
  const choice = decodeToolChoice(asObject(config))?.type
  const isNamed = choice === 'tool' || choice === 'allowed'
  return {
    mode: mode => isSilent(mode) || choice !== undefined,
    allowedFunctionNames: names => isNamed || (Array.isArray(names) && names.length === 0),
  }
}

/** What fields within others say that no other format is told. @param wire with its keys in camelCase */
export function unreadFieldsOf(wire: JsonObject): string[] {
  const config = asObject(wire['generationConfig'])
  // How many log probabilities is said of those that are asked for.
  const logprobs = config?.['responseLogprobs'] === true || oneOf(0)
  const calling = { functionCallingConfig: readOfChoice }
  return [
    ...unreadInside(wire, INSIDE),
    ...unreadInside(config, { ...CONFIG, logprobs }, 'generationConfig'),
    ...unreadInside(asObject(wire['toolConfig']), calling, 'toolConfig'),
  ]
}
