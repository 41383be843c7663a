import type { JsonObject } from '@/json/json.ts'

/** One answer as its vendor writes it, in one piece and as a stream. */
export interface Probe {
  name: string
  whole: JsonObject
  stream: JsonObject[]
}

/** A token with one alternative. */
export function token(text: string): JsonObject {
  const other = { token: 'ß', logprob: -1, bytes: [195, 159] }
  return { token: text, logprob: -0.5, bytes: [...Buffer.from(text)], top_logprobs: [other] }
}
