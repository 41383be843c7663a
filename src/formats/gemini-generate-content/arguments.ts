import { parseExactObject } from '@/json/exact.ts'
import type { JsonObject } from '@/json/json.ts'

/**
 * A call's input as the object Gemini wants. Nothing fails here, since a broken call may stand in the history for
 * good: what is no JSON object becomes `{"_raw": text}`.
 */
export function encodeArgs(input: string): JsonObject {
  if (input.trim() === '') return {}
  return parseExactObject(input) ?? { _raw: input }
}
