import {
  type CountNames,
  inputTokens,
  outputTokens,
  readReport,
  type Usage,
  untoldTokens,
  wholeCount,
} from '@/generation/usage.ts'
import { asArray, asObject, asString, type JsonObject, type JsonValue, present } from '@/json/json.ts'

/**
 * `usageMetadata` in disjoint buckets. The prompt count includes cached tokens and lacks those of
 * server tools; thoughts stand beside the candidates' count, or in the total alone. Zero counts may be absent.
 * Where the total has no room for thoughts beside the candidates, a reseller counted them among these.
 */
export function decodeUsage(metadata: JsonObject): Usage {
  const thought = wholeCount(metadata['thoughtsTokenCount'])
  const toolUse = wholeCount(metadata['toolUsePromptTokenCount'])
  const input = wholeCount(metadata['promptTokenCount'] ?? restOf(metadata, thought + toolUse)) + toolUse
  const output = wholeCount(
    metadata['candidatesTokenCount'] ?? wholeCount(metadata['totalTokenCount']) - input - thought,
  )
  const cached = wholeCount(metadata['cachedContentTokenCount'])
  const audio =
    audioTokens(metadata['promptTokensDetails']) + audioTokens(metadata['toolUsePromptTokensDetails'])
  const untold = untoldTokens(metadata['totalTokenCount'], { input, output, cached, audio, thought })
  const prompt = input + untold.input
  const cacheRead = Math.min(cached, prompt)
  const audioUncached = Math.max(0, audio - audioTokens(metadata['cacheTokensDetails']))
  const audioInput = Math.min(audioUncached, prompt - cacheRead)
  const isWithin = thought <= output && wholeCount(metadata['totalTokenCount']) === input + output
  const answer = isWithin ? output - thought : output
  const audioOutput = Math.min(audioTokens(metadata['candidatesTokensDetails']), answer)
  return {
    inputUncached: prompt - cacheRead - audioInput,
    cacheRead,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    outputText: answer - audioOutput,
    reasoning: thought > 0 ? thought : untold.output,
    audioInput,
    audioOutput,
    serverTools: {},
  }
}

/** As `decodeUsage`; undefined for a report that is none. */
export function readUsage(metadata: JsonObject | undefined): Usage | undefined {
  return readReport(metadata, COUNTS, decodeUsage)
}

/** The word for the tier that served an answer: Gemini's API and Vertex have a field each. */
export function tierIn(metadata: JsonObject | undefined): string | undefined {
  return asString(metadata?.['serviceTier'] ?? metadata?.['trafficType'])
}

/** What `usageMetadata` calls its counts. */
export const COUNTS = {
  input: ['promptTokenCount'],
  output: ['candidatesTokenCount'],
  total: 'totalTokenCount',
  beside: ['thoughtsTokenCount', 'toolUsePromptTokenCount'],
} satisfies CountNames

/** What the total leaves for the prompt. */
function restOf(metadata: JsonObject, besides: number): number {
  return wholeCount(metadata['totalTokenCount']) - wholeCount(metadata['candidatesTokenCount']) - besides
}

/** Modality 4 is AUDIO in the proto. */
function audioTokens(details: JsonValue | undefined): number {
  let tokens = 0
  for (const detail of asArray(details)) {
    const { modality, tokenCount } = asObject(detail) ?? {}
    if (modality === 'AUDIO' || modality === 4) tokens += wholeCount(tokenCount)
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
