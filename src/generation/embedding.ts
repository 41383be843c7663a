import type { JsonValue } from '@/json/json.ts'

/** A request for embeddings, in no vendor's words. */
export interface EmbeddingRequest {
  /** One vector each, in this order. */
  inputs: readonly EmbeddingInput[]
  /** Length of the vectors; undefined is the model's own. */
  dimensions: number | undefined
  /** Fields of the caller's request that only its own format has, in the caller's spelling. */
  unread: readonly string[]
}

/** A text, or the numbers of its tokens in the model's own tokenizer. */
export type EmbeddingInput = string | readonly number[]

/** The vectors, in the order of the inputs. */
export interface EmbeddingAnswer {
  vectors: readonly (readonly number[])[]
  /** Undefined where the upstream reports none. */
  inputTokens: number | undefined
}

/** Whether a value is the numbers of a vector. */
export function isVector(value: JsonValue | undefined): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every(entry => typeof entry === 'number')
}
