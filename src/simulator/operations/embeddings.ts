import { asArray, asNumber, asObject, asString, type JsonObject, type JsonValue } from '@/json/json.ts'
import { Failure } from '@/simulator/failure.ts'
import { refuseType } from '@/simulator/openai/validate.ts'
import { tokensOf } from './answer.ts'

const DEFAULT_DIMENSIONS = 256
const MAX_DIMENSIONS = 4096

/** OpenAI's list of embeddings, in numbers or as base64 of little-endian floats. */
export function openaiEmbeddings(body: JsonObject): JsonObject {
  const input = body['input']
  if (input === undefined) return refuseType('input', 'a text, a list of texts, or tokens', input)
  const isOne = typeof input === 'string' || (Array.isArray(input) && typeof input[0] === 'number')
  const inputs: JsonValue[] = isOne ? [input] : asArray(input)
  if (inputs.length === 0) throw new Failure(400, "'$.input' is invalid.", { param: 'input' })
  const dimensions = dimensionsOf(body, 'dimensions')
  const tokens = inputs.reduce<number>(
    (sum, entry) => sum + (Array.isArray(entry) ? entry.length : tokensOf(asString(entry) ?? '')),
    0,
  )
  const data = inputs.map((entry, index) => {
    const values = vector(JSON.stringify(entry), dimensions)
    const embedding =
      body['encoding_format'] === 'base64'
        ? Buffer.from(new Float32Array(values).buffer).toString('base64')
        : values
    return { object: 'embedding', index, embedding }
  })
  return {
    object: 'list',
    data,
    model: body['model'],
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

/** Google's shape for one text. */
export function geminiEmbedding(request: JsonObject): JsonObject {
  const parts = asArray(asObject(request['content'])?.['parts'])
  if (parts.length === 0) throw new Failure(400, '* EmbedContentRequest.content: contents is not specified')
  const text = parts.map(part => asString(asObject(part)?.['text']) ?? '').join('\n')
  return { values: vector(text, dimensionsOf(request, 'outputDimensionality')) }
}

/** Google's shape for each of several texts. */
export function geminiEmbeddings(requests: readonly JsonValue[]): JsonObject[] {
  if (requests.length > 100) {
    throw new Failure(400, '* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch')
  }
  return requests.map(request => geminiEmbedding(asObject(request) ?? {}))
}

function dimensionsOf(body: JsonObject, name: string): number {
  const dimensions = asNumber(body[name]) ?? DEFAULT_DIMENSIONS
  if (Number.isInteger(dimensions) && dimensions > 0 && dimensions <= MAX_DIMENSIONS) return dimensions
  throw new Failure(400, `Invalid value for '${name}': expected 1 to ${MAX_DIMENSIONS}.`, { param: name })
}

/** A unit vector made of the text's hash. */
function vector(text: string, dimensions: number): number[] {
  const raw = Array.from(
    { length: dimensions },
    (_, index) => (Number(Bun.hash(text, BigInt(index)) % 2001n) - 1000) / 1000,
  )
  const length = Math.hypot(...raw) || 1
  return raw.map(value => Math.fround(value / length))
}
