import {
  type CountNames,
  inputTokens,
  isReport,
  outputTokens,
  possible,
  type Usage,
} from '@/generation/usage.ts'
import {
  asArray,
  asNumber,
  asObject,
  asString,
  type JsonObject,
  type JsonValue,
  present,
} from '@/json/json.ts'

/**
 * `usageMetadata` in disjoint buckets. The prompt count includes cached tokens and lacks those of
 * server tools; thoughts stand beside the candidates' count. Zero counts may be absent.
 */
export function decodeUsage(metadata: JsonObject): Usage {
  const reasoning = count(metadata['thoughtsTokenCount'])
  const toolUse = count(metadata['toolUsePromptTokenCount'])
  const asked = asNumber(metadata['promptTokenCount']) ?? restOf(metadata, reasoning + toolUse)
  const prompt = Math.max(0, asked) + toolUse
  const cacheRead = Math.min(count(metadata['cachedContentTokenCount']), prompt)
  const candidates =
    asNumber(metadata['candidatesTokenCount']) ?? count(metadata['totalTokenCount']) - prompt - reasoning
  const audioPrompt =
    audioTokens(metadata['promptTokensDetails']) + audioTokens(metadata['toolUsePromptTokensDetails'])
  const audioInput = clamp(audioPrompt - audioTokens(metadata['cacheTokensDetails']), prompt - cacheRead)
  const audioOutput = clamp(audioTokens(metadata['candidatesTokensDetails']), candidates)
  return {
    inputUncached: prompt - cacheRead - audioInput,
    cacheRead,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    outputText: Math.max(0, candidates - audioOutput),
    reasoning,
    audioInput,
    audioOutput,
    serverTools: {},
  }
}

/** The same where there may be none; nor is there one that counts one side only. */
export function readUsage(metadata: JsonObject | undefined): Usage | undefined {
  return metadata === undefined || !isReport(metadata, COUNTS) ? undefined : possible(decodeUsage(metadata))
}

/** The word for the tier that served an answer: Gemini's API and Vertex have a field each. */
export function tierIn(metadata: JsonObject | undefined): string | undefined {
  return asString(metadata?.['serviceTier'] ?? metadata?.['trafficType'])
}

const COUNTS = {
  input: ['promptTokenCount'],
  output: ['candidatesTokenCount'],
  total: 'totalTokenCount',
  beside: ['thoughtsTokenCount', 'toolUsePromptTokenCount'],
} satisfies CountNames

function count(value: JsonValue | undefined): number {
  return Math.max(0, asNumber(value) ?? 0)
}

/** What the total leaves for the prompt. */
function restOf(metadata: JsonObject, besides: number): number {
  return count(metadata['totalTokenCount']) - count(metadata['candidatesTokenCount']) - besides
}

function clamp(value: number, limit: number): number {
  return Math.max(0, Math.min(value, limit))
}

/** Modality 4 is AUDIO in the proto. */
function audioTokens(details: JsonValue | undefined): number {
  let tokens = 0
  for (const detail of asArray(details)) {
    const { modality, tokenCount } = asObject(detail) ?? {}
    if (modality === 'AUDIO' || modality === 4) tokens += count(tokenCount)
  }
  return tokens
}

/** @param tier in which the answer was served; the ordinary one goes without saying. */
export function encodeUsage(usage: Usage, tier: string | undefined): JsonObject {
  const prompt = inputTokens(usage)
  const output = outputTokens(usage)
  const candidates = output - usage.reasoning
  return present({
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    totalTokenCount: prompt + output,
    cachedContentTokenCount: usage.cacheRead > 0 ? usage.cacheRead : undefined,
    thoughtsTokenCount: usage.reasoning > 0 ? usage.reasoning : undefined,
    promptTokensDetails: modalities(prompt, usage.audioInput),
    candidatesTokensDetails: modalities(candidates, usage.audioOutput),
    serviceTier: tier === 'flex' || tier === 'priority' ? tier : undefined,
  })
}

/** The counts by modality, where there is more than text. */
function modalities(total: number, audio: number): JsonObject[] | undefined {
  if (audio === 0) return undefined
  const text = { modality: 'TEXT', tokenCount: total - audio }
  return [...(text.tokenCount > 0 ? [text] : []), { modality: 'AUDIO', tokenCount: audio }]
}
