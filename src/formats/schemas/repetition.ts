import type { JsonObject } from '@/json/json.ts'

/** Most that one request has written more often than it was said, as JSON: what references stand for, what stands beside a union. */
const MAX_REPEATED_LENGTH = 10_000_000

/** How much of a request's schemas was written more often than it was said, as JSON and in nodes behind references. */
export interface Repetition {
  length: number
  nodes: number
}

/** Counts what is to be written again, so many times; true once all that is too much. */
export function isTooMuch(repeated: Repetition, schema: JsonObject, times: number): boolean {
  if (repeated.length > MAX_REPEATED_LENGTH) return true
  repeated.length += JSON.stringify(schema).length * times
  return repeated.length > MAX_REPEATED_LENGTH
}
