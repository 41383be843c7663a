import { invalidRequest } from '@/formats/invalid.ts'
import {
  type EmbeddingAnswer,
  type EmbeddingInput,
  type EmbeddingRequest,
  isVector,
} from '@/generation/embedding.ts'
import { readCount } from '@/generation/usage.ts'
import {
  asArray,
  asIndex,
  asNumber,
  asObject,
  type JsonObject,
  type JsonValue,
  present,
} from '@/json/json.ts'
import type { JsonEdit } from '@/json/splice.ts'
import { unknownFields } from './unknown-fields.ts'

/**
 * OpenAI's `/v1/embeddings`, the same at every upstream with an API like OpenAI's.
 * https://platform.openai.com/docs/api-reference/embeddings
 */

/** How the caller wants its vectors. */
type Encoding = 'float' | 'base64'

/** The most inputs of a request at OpenAI, and so of one that is written for another vendor. */
const MAX_INPUTS = 2048

const KNOWN = new Set(['model', 'input', 'dimensions', 'encoding_format'])

/** @throws GatewayError `invalid_request` */
export function decodeEmbeddingRequest(body: JsonObject): EmbeddingRequest {
  const dimensions = body['dimensions'] ?? undefined
  if (dimensions !== undefined && !(Number.isSafeInteger(dimensions) && Number(dimensions) > 0))
    throw invalidRequest('dimensions', 'expected a whole number above 0')
  return {
    inputs: decodeInputs(body['input']),
    dimensions: asNumber(dimensions),
    unread: unknownFields(body, KNOWN),
  }
}

/** @throws GatewayError `invalid_request` */
export function encodingOf(body: JsonObject): Encoding {
  const encoding = body['encoding_format'] ?? 'float'
  if (encoding === 'float' || encoding === 'base64') return encoding
  throw invalidRequest('encoding_format', "expected 'float' or 'base64'")
}

/** Writes a request for a model of an upstream, for callers of other formats. */
export function encodeEmbeddingRequest({ inputs, dimensions }: EmbeddingRequest, model: string): JsonObject {
  const [first] = inputs
  return present({
    model,
    input: inputs.length === 1 && typeof first === 'string' ? first : inputs.map(copyInput),
    // Said, since vectors come as text of their own at some upstreams that were asked for nothing.
    encoding_format: 'float',
    dimensions,
  })
}

/** Undefined for what is no list of vectors. */
export function decodeEmbeddingAnswer(json: JsonObject): EmbeddingAnswer | undefined {
  const entries = asArray(json['data']).map((entry, place) => {
    const { index, embedding } = asObject(entry) ?? {}
    return { index: asIndex(index) ?? place, vector: decodeVector(embedding) }
  })
  const vectors: (readonly number[])[] = []
  for (const { vector } of entries.toSorted((one, other) => one.index - other.index)) {
    if (vector === undefined) return undefined
    vectors.push(vector)
  }
  return vectors.length === 0 ? undefined : { vectors, inputTokens: reportedInput(json) }
}

/**
 * Makes vectors that are numbers the base64 that was asked for. Mistral and LM Studio answer with numbers all the same, which
 * OpenAI's SDKs, who ask for base64 by themselves, take for vectors of nothing but zeros or refuse.
 * https://github.com/Mintplex-Labs/anything-llm/issues/5794 https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/756
 */
export function base64Edits(answer: JsonObject): JsonEdit[] {
  return asArray(answer['data']).flatMap((entry, place) => {
    const vector = asObject(entry)?.['embedding']
    return isVector(vector) ? [{ path: ['data', place, 'embedding'], value: encodeBase64(vector) }] : []
  })
}

/** What an answer says it has used; undefined if it says nothing. */
export function reportedInput(json: JsonObject): number | undefined {
  const usage = asObject(json['usage'])
  return readCount(usage?.['prompt_tokens']) ?? readCount(usage?.['total_tokens'])
}

/** @param inputTokens as reported, else estimated */
export function encodeEmbeddingAnswer(
  { vectors }: EmbeddingAnswer,
  context: { model: string; encoding: Encoding; inputTokens: number },
): JsonObject {
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: context.encoding === 'base64' ? encodeBase64(vector) : [...vector],
    })),
    model: context.model,
    usage: { prompt_tokens: context.inputTokens, total_tokens: context.inputTokens },
  }
}

function decodeInputs(input: JsonValue | undefined): EmbeddingInput[] {
  if (typeof input === 'string') return [input]
  if (!Array.isArray(input) || input.length === 0) {
    throw invalidRequest('input', 'expected a text, a list of texts, or tokens')
  }
  if (isTokens(input)) return [input]
  if (input.length > MAX_INPUTS) throw invalidRequest('input', `expected at most ${MAX_INPUTS} texts`)
  return input.map((entry, index) => {
    if (typeof entry === 'string' || isTokens(entry)) return entry
    throw invalidRequest(`input[${index}]`, 'expected a text or a list of token numbers')
  })
}

function isTokens(value: JsonValue): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every(token => asIndex(token) !== undefined)
}

function copyInput(input: EmbeddingInput): JsonValue {
  return typeof input === 'string' ? input : [...input]
}

/** Numbers, or base64 of little-endian 32-bit floats. */
function decodeVector(embedding: JsonValue | undefined): readonly number[] | undefined {
  if (typeof embedding === 'string') {
    const bytes = Buffer.from(embedding, 'base64')
    return bytes.length === 0 || bytes.length % 4 !== 0
      ? undefined
      : Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4))
  }
  return isVector(embedding) ? embedding : undefined
}

function encodeBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}
