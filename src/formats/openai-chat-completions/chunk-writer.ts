import type { JsonObject, JsonValue } from '@/json/json.ts'
import type { FinishReason } from './wire.ts'

/** Writes whole events; what is constant in them was put together before. */
export interface ChunkWriter {
  /** The two halves of a chunk around one value of its delta. */
  around(index: number, before: string, after: string): { before: string; after: string }
  delta(index: number, delta: JsonObject): string
  last(index: number, reason: FinishReason): string
  logprobs(index: number, content: readonly JsonValue[]): string
  usage(usage: JsonObject): string
}
