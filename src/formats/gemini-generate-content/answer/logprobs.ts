import { asArray, asNumber, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'

/** `logprobsResult` as OpenAI's token objects; the bytes, which Gemini does not give, are computed. */
export function decodeLogprobs(result: JsonObject | undefined): JsonValue[] {
  const alternatives = asArray(result?.['topCandidates'])
  return asArray(result?.['chosenCandidates']).map((chosen, index) => ({
    ...tokenObject(chosen),
    top_logprobs: asArray(asObject(alternatives[index])?.['candidates']).map(tokenObject),
  }))
}

function tokenObject(value: JsonValue): JsonObject {
  const token = asString(asObject(value)?.['token']) ?? ''
  const logprob = asNumber(asObject(value)?.['logProbability']) ?? 0
  return { token, logprob, bytes: [...Buffer.from(token, 'utf8')] }
}

/** OpenAI's token objects as `logprobsResult`; undefined where there are none. */
export function encodeLogprobs(content: readonly JsonValue[]): JsonObject | undefined {
  if (content.length === 0) return undefined
  return {
    chosenCandidates: content.map(candidate),
    topCandidates: content.map(token => ({
      candidates: asArray(asObject(token)?.['top_logprobs']).map(candidate),
    })),
  }
}

function candidate(value: JsonValue): JsonObject {
  const token = asObject(value)
  return { token: token?.['token'] ?? '', logProbability: token?.['logprob'] ?? 0 }
}
