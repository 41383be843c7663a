import type { GatewayError } from '@/errors/gateway-error.ts'
import { notOffered } from '@/exchange/admission/admission.ts'
import type { RequestBody } from '@/exchange/admission/body.ts'
import { textTokens, withMargin } from '@/exchange/billing/token-estimate.ts'
import type { UsedUp } from '@/exchange/billing/used-up.ts'
import type { CallerAnswer } from '@/exchange/relay/whole.ts'
import { brokenAnswer } from '@/formats/faults/fault.ts'
import * as gemini from '@/formats/gemini-generate-content/embeddings.ts'
import * as openai from '@/formats/openai/embeddings.ts'
import type { EmbeddingAnswer, EmbeddingRequest } from '@/generation/embedding.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import { asArray, asObject, type JsonObject } from '@/json/json.ts'
import { spliceJson } from '@/json/splice.ts'
import type { Route } from '@/routing/model.ts'
import { geminiName, type UpstreamCall } from '@/upstream/endpoint.ts'
import { dialectOf } from './dialect.ts'
import { objectionIn, type PreparedWhole, type WholeOperation } from './operation.ts'
import { JSON_TYPE, noAnswer, readJsonAnswer, renameModel } from './operation-wire.ts'

/** A call for embeddings as its surface read it. */
interface EmbeddingCall {
  body: RequestBody
  /** As the caller named it. */
  model: string
  /** Which of Gemini's two it is; undefined for OpenAI's. */
  action: gemini.EmbeddingAction | undefined
}

/** Embeddings of texts, on upstreams of OpenAI's and of Gemini's kind; input tokens are all that is priced. */
export function embeddingOperation(call: EmbeddingCall): WholeOperation {
  const estimate = estimateInput(call.body.json)
  return {
    model: call.model,
    format: call.action === undefined ? 'openai-chat-completions' : 'gemini-generate-content',
    delivery: 'whole',
    price: { work: 'embedding', ceiling: { inputTokens: withMargin(estimate), outputTokens: 0 } },
    objection: route => objectionOf(call, route),
    prepare: route =>
      takesOwnWords(call, route) ? passOn(call, route, estimate) : writeForeign(call, route, estimate),
  }
}

/** Whether an upstream takes the caller's own words. */
function takesOwnWords({ action }: EmbeddingCall, { channel }: Route): boolean {
  return (dialectOf(channel.format) === 'gemini') === (action !== undefined)
}

function objectionOf(call: EmbeddingCall, route: Route): GatewayError | undefined {
  if (dialectOf(route.channel.format) === undefined) return notOffered(call.model)
  return takesOwnWords(call, route) ? undefined : objectionIn(() => writeForeign(call, route, 0))
}

function passOn(call: EmbeddingCall, route: Route, estimate: number): PreparedWhole {
  const { action } = call
  const asksBase64 = action === undefined && call.body.json['encoding_format'] === 'base64'
  return {
    call: upstreamCall(action === undefined ? 'embeddings' : KINDS[action], route),
    body: action === undefined ? renameModel(call.body, route) : renameInside(call.body, route),
    headers: {},
    losses: [],
    read: bytes => {
      const json = readJsonAnswer(bytes)
      if (!holdsVectors(json)) throw noAnswer(json, NO_VECTORS)
      const reported = action === undefined ? openai.reportedInput(json) : gemini.reportedInput(json)
      const body = asksBase64 ? spliceJson(bytes, openai.base64Edits(json), json) : bytes
      return { body, contentType: JSON_TYPE, used: usedUp(reported, estimate) }
    },
  }
}

const NO_VECTORS = 'The upstream did not answer with one vector for each input'

/** Whether there is something where either format has its vectors; of an answer that is handed on they stay unread. */
function holdsVectors({ data, embedding, embeddings }: JsonObject): boolean {
  return asArray(data).length > 0 || asArray(embeddings).length > 0 || asObject(embedding) !== undefined
}

/** Gemini names the model in the path and may name it again in the body, for each request of a batch. */
function renameInside({ bytes, json }: RequestBody, { upstreamModel }: Route): Uint8Array {
  const value = geminiName(upstreamModel)
  const paths = asArray(json['requests']).flatMap((request, index) =>
    asObject(request)?.['model'] === undefined ? [] : [['requests', index, 'model']],
  )
  if (json['model'] !== undefined) paths.push(['model'])
  return spliceJson(
    bytes,
    paths.map(path => ({ path, value })),
    json,
  )
}

/** The call of an upstream of the other vendor, and the way back for its answer. */
function writeForeign(call: EmbeddingCall, route: Route, estimate: number): PreparedWhole {
  const { action, body, model } = call
  if (action === undefined) {
    const request = openai.decodeEmbeddingRequest(body.json)
    const encoding = openai.encodingOf(body.json)
    const first = gemini.encodeEmbeddingRequest(request, geminiName(route.upstreamModel))
    const encode = (answer: EmbeddingAnswer) =>
      reply(answer, estimate, inputTokens =>
        openai.encodeEmbeddingAnswer(answer, { model, encoding, inputTokens }),
      )
    return askGemini(first, { route, request, encode }, NOTHING_YET)
  }
  const request = gemini.decodeEmbeddingRequest(body.json, action)
  return {
    call: upstreamCall('embeddings', route),
    ...written(openai.encodeEmbeddingRequest(request, route.upstreamModel), request),
    read: bytes => {
      const answer = complete(openai.decodeEmbeddingAnswer(readJsonAnswer(bytes)), request.inputs.length)
      return reply(answer, estimate, inputTokens =>
        gemini.encodeEmbeddingAnswer(answer, { action, inputTokens }),
      )
    },
  }
}

/** A request that is written for Gemini, and its answer for the caller. */
interface GeminiCalls {
  route: Route
  request: EmbeddingRequest
  encode(answer: EmbeddingAnswer): CallerAnswer
}

function askGemini(
  { action, body, count, next }: gemini.EmbeddingCall,
  calls: GeminiCalls,
  before: EmbeddingAnswer,
): PreparedWhole {
  return {
    call: upstreamCall(KINDS[action], calls.route),
    ...written(body, calls.request),
    read: bytes => {
      const these = complete(gemini.decodeEmbeddingAnswer(readJsonAnswer(bytes)), count)
      const answer = joined(before, these)
      return next === undefined ? calls.encode(answer) : askGemini(next, calls, answer)
    },
  }
}

const NOTHING_YET: EmbeddingAnswer = { vectors: [], inputTokens: 0 }

/** Where one of them does not say what it has used, that of all is estimated. */
function joined(one: EmbeddingAnswer, other: EmbeddingAnswer): EmbeddingAnswer {
  const vectors = [...one.vectors, ...other.vectors]
  if (one.inputTokens === undefined || other.inputTokens === undefined)
    return { vectors, inputTokens: undefined }
  return { vectors, inputTokens: one.inputTokens + other.inputTokens }
}

const KINDS = { embedContent: 'embed-content', batchEmbedContents: 'batch-embed-contents' } as const

function upstreamCall(kind: UpstreamCall['kind'], { upstreamModel }: Route): UpstreamCall {
  return { kind, model: upstreamModel, stream: false }
}

function written(body: JsonObject, { unread }: EmbeddingRequest) {
  return { body: Buffer.from(JSON.stringify(body)), headers: {}, losses: [...unread].sort() }
}

/** Vectors that do not belong to the inputs one by one are no answer. */
function complete(answer: EmbeddingAnswer | undefined, inputs: number): EmbeddingAnswer {
  if (answer?.vectors.length === inputs) return answer
  throw brokenAnswer(NO_VECTORS)
}

/** An answer written anew. */
function reply(
  { inputTokens }: EmbeddingAnswer,
  estimate: number,
  encode: (inputTokens: number) => JsonObject,
): CallerAnswer {
  const used = usedUp(inputTokens, estimate)
  return { body: JSON.stringify(encode(used.usage.inputUncached)), contentType: JSON_TYPE, used }
}

function usedUp(reported: number | undefined, estimate: number): UsedUp {
  return {
    usage: { ...NO_USAGE, inputUncached: reported ?? estimate },
    source: reported === undefined ? 'estimated' : 'reported',
  }
}

/** Tokens of all inputs, whatever the format: texts by rule of thumb, token arrays by their length. */
function estimateInput(json: JsonObject): number {
  const contents = [json, ...asArray(json['requests'])].map(request => asObject(request)?.['content'])
  return [json['input'], ...contents].reduce<number>((sum, value) => sum + textTokens(value), 0)
}
