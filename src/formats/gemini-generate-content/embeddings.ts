import { invalidRequest, unsupported } from '@/formats/invalid.ts'
import { type EmbeddingAnswer, type EmbeddingRequest, isVector } from '@/generation/embedding.ts'
import { readCount } from '@/generation/usage.ts'
import { asArray, asIndex, asNumber, asObject, asString, type JsonObject, present } from '@/json/json.ts'
import { callerPath, camelKeys, unknownKeys } from './request/keys.ts'

/**
 * Gemini's `embedContent` (one text) and `batchEmbedContents` (several).
 * https://ai.google.dev/api/embeddings
 */
export type EmbeddingAction = 'embedContent' | 'batchEmbedContents'

/** The most requests in a batch: https://github.com/vercel/ai/pull/16760 */
const MAX_BATCH = 100

const KNOWN = new Set(['model', 'content', 'outputDimensionality', 'embedContentConfig'])
const KNOWN_BATCH = new Set(['requests'])
const KNOWN_CONFIG = new Set(['outputDimensionality'])
const KNOWN_CONTENT = new Set(['role', 'parts'])
const KNOWN_PART = new Set(['text'])

/** @throws GatewayError `invalid_request`; `unsupported_parameter` for what is no text */
export function decodeEmbeddingRequest(wire: JsonObject, action: EmbeddingAction): EmbeddingRequest {
  const body = camelKeys(wire)
  const entries = action === 'embedContent' ? [body] : asArray(body['requests'])
  if (entries.length === 0) throw invalidRequest('requests', 'expected at least one')
  const decoded = entries.map((entry, index) => {
    const at = action === 'embedContent' ? '' : `requests[${index}].`
    return decodeEntry(asObject(entry) ?? {}, path => callerPath(at + path, wire))
  })
  const [first, ...rest] = decoded
  const other = rest.find(({ dimensions }) => dimensions !== first?.dimensions)
  if (other !== undefined) {
    throw unsupported(
      other.spell('outputDimensionality'),
      'must be the same for all: the upstream has one for the whole batch',
    )
  }
  return {
    inputs: decoded.map(({ text }) => text),
    dimensions: first?.dimensions,
    unread: [
      ...(action === 'embedContent'
        ? []
        : unknownKeys(body, KNOWN_BATCH).map(name => callerPath(name, wire))),
      ...new Set(decoded.flatMap(({ unread }) => unread)),
    ],
  }
}

function decodeEntry(entry: JsonObject, spell: (path: string) => string) {
  const config = asObject(entry['embedContentConfig']) ?? {}
  const dimensions = entry['outputDimensionality'] ?? config['outputDimensionality']
  if (dimensions !== undefined && (asIndex(dimensions) ?? 0) === 0)
    throw invalidRequest(spell('outputDimensionality'), 'expected a whole number above 0')
  const content = asObject(entry['content'])
  const unread = [
    ...unknownKeys(entry, KNOWN),
    ...unknownKeys(config, KNOWN_CONFIG, 'embedContentConfig.'),
    ...unknownKeys(content, KNOWN_CONTENT, 'content.'),
    ...asArray(content?.['parts']).flatMap(part => unknownKeys(asObject(part), KNOWN_PART, 'content.parts.')),
  ]
  return {
    spell,
    text: decodeText(content, spell),
    dimensions: asNumber(dimensions),
    // What is lost is lost for all of a batch, so it is named once.
    unread: unread.map(name => spell(name).replace(/^requests\[\d+\]\./, '')),
  }
}

/** The parts of one content have one vector between them. */
function decodeText(content: JsonObject | undefined, spell: (path: string) => string): string {
  const parts = asArray(content?.['parts'])
  if (parts.length === 0) throw invalidRequest(spell('content'), 'expected parts')
  const texts = parts.map((part, index) => {
    const text = asString(asObject(part)?.['text'])
    if (text !== undefined) return text
    throw unsupported(spell(`content.parts[${index}]`), 'is no text, and the upstream embeds nothing else')
  })
  return texts.join('\n')
}

/** A call for the vectors of the first inputs of a request. */
export interface EmbeddingCall {
  action: EmbeddingAction
  body: JsonObject
  /** Of how many inputs. */
  count: number
  /** For those behind them; undefined where there are none. */
  next: EmbeddingCall | undefined
}

/**
 * @param name the model's full name, `models/x`
 * @throws GatewayError `unsupported_parameter`
 */
export function encodeEmbeddingRequest(
  { inputs, dimensions }: EmbeddingRequest,
  name: string,
): EmbeddingCall {
  const requests = inputs.map((input, index) =>
    present({
      model: name,
      content: { parts: [{ text: encodeText(input, inputs.length === 1 ? 'input' : `input[${index}]`) }] },
      outputDimensionality: dimensions,
    }),
  )
  const [only, ...more] = requests
  return only !== undefined && more.length === 0
    ? { action: 'embedContent', body: only, count: 1, next: undefined }
    : inBatches(requests)
}

function inBatches(requests: JsonObject[]): EmbeddingCall {
  const first = requests.slice(0, MAX_BATCH)
  const others = requests.slice(MAX_BATCH)
  return {
    action: 'batchEmbedContents',
    body: { requests: first },
    count: first.length,
    next: others.length === 0 ? undefined : inBatches(others),
  }
}

function encodeText(input: EmbeddingRequest['inputs'][number], param: string): string {
  if (typeof input === 'string') return input
  throw unsupported(
    param,
    'is given in tokens, which only their own tokenizer can read; send the text, as this model needs it',
  )
}

/** Undefined for what holds no vectors. */
export function decodeEmbeddingAnswer(json: JsonObject): EmbeddingAnswer | undefined {
  const entries = json['embedding'] === undefined ? asArray(json['embeddings']) : [json['embedding']]
  const vectors: number[][] = []
  for (const entry of entries) {
    const values = asObject(entry)?.['values']
    if (!isVector(values)) return undefined
    vectors.push(values)
  }
  return vectors.length === 0 ? undefined : { vectors, inputTokens: reportedInput(json) }
}

/** What an answer says it has used; older ones say nothing. */
export function reportedInput(json: JsonObject): number | undefined {
  return readCount(asObject(json['usageMetadata'])?.['promptTokenCount'])
}

/** Writes the answer to either call; the tokens are ours where the upstream told none. */
export function encodeEmbeddingAnswer(
  { vectors }: EmbeddingAnswer,
  { action, inputTokens }: { action: EmbeddingAction; inputTokens: number },
): JsonObject {
  const embeddings = vectors.map(values => ({ values: [...values] }))
  const usageMetadata = { promptTokenCount: inputTokens }
  return action === 'embedContent'
    ? { embedding: embeddings[0], usageMetadata }
    : { embeddings, usageMetadata }
}
