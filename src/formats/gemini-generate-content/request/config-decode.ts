import { levelEffort } from '@/formats/gemini-generate-content/models.ts'
import { heldOutput } from '@/formats/schemas/output-format.ts'
import {
  type GenerationRequest,
  MODALITIES,
  type Modality,
  type OutputFormat,
  type Reasoning,
} from '@/generation/request.ts'
import {
  asArray,
  asBoolean,
  asNumber,
  asObject,
  asString,
  asStrings,
  asWord,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import type { ConfigFields } from './config-encode.ts'
import { liftSchema } from './openapi-schema.ts'

/** What of a request stands in `generationConfig`, the answer's shape included. */
type DecodedConfig = ConfigFields & Pick<GenerationRequest, 'output'>

/** The fields of `generationConfig` that every format can mean; `configExtensions` has the others. */
export function decodeConfig(config: JsonObject): DecodedConfig {
  return {
    temperature: asNumber(config['temperature']),
    topP: asNumber(config['topP']),
    topK: asNumber(config['topK']),
    candidates: asNumber(config['candidateCount']),
    maxOutputTokens: asNumber(config['maxOutputTokens']),
    // An empty one ends nothing.
    stop: asStrings(config['stopSequences']).filter(Boolean),
    seed: asNumber(config['seed']),
    presencePenalty: asNumber(config['presencePenalty']),
    frequencyPenalty: asNumber(config['frequencyPenalty']),
    logprobs: config['responseLogprobs'] === true ? { top: asNumber(config['logprobs']) } : undefined,
    modalities: asArray(config['responseModalities']).flatMap(modality => decodeModality(modality) ?? []),
    reasoning: decodeThinking(asObject(config['thinkingConfig'])),
    output: decodeOutput(config),
  }
}

/** The fields that are read above; every other one is an extension. */
const NAMED: ReadonlySet<string> = new Set([
  ...['temperature', 'topP', 'topK', 'candidateCount', 'maxOutputTokens', 'stopSequences', 'seed'],
  ...['presencePenalty', 'frequencyPenalty', 'responseLogprobs', 'logprobs', 'responseModalities'],
  ...['thinkingConfig', 'responseMimeType', 'responseSchema', 'responseJsonSchema'],
])

/** The fields of `generationConfig` that only Gemini has. */
export function configExtensions(config: JsonObject): JsonObject {
  // An enum answer is text to every other format; its schema would mean JSON there.
  const output =
    decodeOutput(config)?.type === 'text' ? ['responseMimeType', 'responseSchema', 'responseJsonSchema'] : []
  const isRead = (key: string) => NAMED.has(key) || (key === 'responseFormat' && textFormat(config))
  const own = (key: string) => !isRead(key) || (output.includes(key) && config[key] !== 'text/plain')
  return Object.fromEntries(Object.entries(config).filter(([key]) => own(key)))
}

/** Undefined for a kind that only Gemini makes. */
export function decodeModality(value: JsonValue): Modality | undefined {
  // By their number in the proto, where 0 is none.
  if (typeof value === 'number') return MODALITIES[value - 1]
  return asWord(MODALITIES, asString(value)?.toLowerCase())
}

/** The newer `responseFormat`, where it says of text what every format can. */
function textFormat({ responseFormat }: JsonObject): OutputFormat | undefined {
  const [only, ...more] = isJsonObject(responseFormat) ? [responseFormat] : asArray(responseFormat)
  const { text, ...others } = asObject(only) ?? {}
  const { mimeType, schema, ...unknown } = asObject(text) ?? {}
  if (text === undefined || more.length + Object.keys({ ...others, ...unknown }).length > 0) return undefined
  const type = (asString(mimeType) ?? JSON_TYPE).toLowerCase().replace('_', '/')
  if (type === 'text/plain') return { type: 'text' }
  if (type !== JSON_TYPE) return undefined
  const known = asObject(schema)
  return known === undefined ? { type: 'json' } : heldOutput(known)
}

const JSON_TYPE = 'application/json'

function decodeOutput(config: JsonObject): OutputFormat | undefined {
  const newer = textFormat(config)
  if (newer !== undefined) return newer
  const mimeType = asString(config['responseMimeType'])
  if (mimeType !== undefined && mimeType !== JSON_TYPE) return { type: 'text' }
  const openapi = asObject(config['responseSchema'])
  const schema =
    asObject(config['responseJsonSchema']) ?? (openapi === undefined ? undefined : liftSchema(openapi))
  // A schema says enough of the type.
  if (schema === undefined) return mimeType === undefined ? undefined : { type: 'json' }
  return heldOutput(schema)
}

function decodeThinking(config: JsonObject | undefined): Reasoning | undefined {
  if (config === undefined) return undefined
  const budgetTokens = asNumber(config['thinkingBudget'])
  const shown = asBoolean(config['includeThoughts'])
  const named = levelEffort(asString(config['thinkingLevel']) ?? '')
  return {
    effort: budgetTokens === 0 ? 'none' : named,
    budgetTokens,
    summary: shown === undefined ? undefined : shown ? 'auto' : 'none',
  }
}
