import { asGatewayError, GatewayError } from '@/errors/gateway-error.ts'
import { outlineOf, textsOf } from '@/exchange/admission/body.ts'
import { endLimits } from '@/exchange/admission/limiting.ts'
import { decodeBody, type Prompt } from '@/exchange/admission/prompt.ts'
import { targetOf } from '@/exchange/admission/target.ts'
import { faultInBody, fetchWhole, type Sendable } from '@/exchange/attempt/attempt.ts'
import { MAX_ATTEMPTS } from '@/exchange/attempt/failover.ts'
import { isPassthrough, passOn } from '@/exchange/attempt/passthrough-request.ts'
import { estimateTokens } from '@/exchange/billing/token-estimate.ts'
import { answerHeaders, errorResponse, limitHeadersOf } from '@/exchange/relay/reply.ts'
import { inCallersWords } from '@/formats/lowering/caller-words.ts'
import { type CountingCodec, canCount, lowerCount } from '@/formats/lowering/lowering.ts'
import { mediaToFetch } from '@/formats/media/media-urls.ts'
import { CODECS } from '@/formats/registry.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { asObject, type JsonObject, parseObject } from '@/json/json.ts'
import { spliceJson } from '@/json/splice.ts'
import { wellFormed } from '@/json/well-formed.ts'
import type { Route } from '@/routing/model.ts'
import type { Candidate } from '@/routing/order.ts'
import { geminiName } from '@/upstream/endpoint.ts'
import type { ConversationCall } from './call.ts'
import { type Conversation, giveRoom, traitsOf } from './conversation.ts'
import { readPrompt, receive } from './exchange.ts'
import { failureOf, logCall } from './failure.ts'
import type { Gateway } from './gateway.ts'
import { interruptionBy } from './interruption.ts'
import { admitFree } from './pass.ts'
import { type ExchangeRecord, openRecord } from './record.ts'

/** How long upstreams may take to count, all together; agents ask often and wait for it. */
const COUNT_MS = 10_000

/** The answer to a caller, and who counted. */
interface TokenCount {
  body: string
  by: 'upstream' | 'estimate'
}

/** What a count needs of an admitted call; nothing of money. */
type Counting = Pick<Conversation, 'gateway' | 'record' | 'prompt' | 'model' | 'pass' | 'interruption'>

/**
 * How many tokens a prompt has: asked of an upstream where its format can be asked, else estimated, which a header
 * then says. Admitted like an exchange, but free: nothing is stored.
 */
export async function countTokens(gateway: Gateway, call: ConversationCall): Promise<Response> {
  const record = openRecord(gateway.newRequestId(), call.surface, gateway.clock)
  const { signal } = call.request
  try {
    const { asked: prompt, model } = await receive(gateway, record, call, () =>
      readPrompt(gateway, record, call),
    )
    const pass = await admitFree(gateway, record)
    giveRoom({ gateway, record, prompt })
    const interruption = interruptionBy(signal)
    const count = await countFor({ gateway, record, prompt, model, pass, interruption })
    report(gateway, record, count.by)
    return new Response(count.body, {
      headers: {
        'content-type': 'application/json',
        ...answerHeaders(record, gateway.clock.now()),
        ...(count.by === 'estimate' ? { 'x-tollgate-estimated': 'true' } : {}),
      },
    })
  } catch (error) {
    record.error = failureOf(error, signal)
    record.status = record.error.status
    report(gateway, record, 'nobody')
    return errorResponse(record.error, record.id, record.surface, limitHeadersOf(record, gateway.clock.now()))
  } finally {
    endLimits(gateway, record)
    for (const release of record.releases) release()
  }
}

/**
 * The count of the first route that gives one; those for which the request cannot be written are passed over. An upstream's
 * failure is no failure of the caller's, who gets an estimate then; only what is wrong with the request itself is.
 */
async function countFor(counting: Counting): Promise<TokenCount> {
  const { gateway, record, prompt, model, interruption } = counting
  const { selector } = gateway
  const ways = selector.select(model.routes, traitsOf(record, prompt, model)).ready.flatMap(countingWay)
  // No upstream will look at the request, so what is wrong with it is found here.
  if (ways.length === 0) decodeCounted(prompt)
  const objections = new Map<Route, GatewayError>()
  let asked = 0
  const stopTimer = gateway.clock.after(COUNT_MS, () => interruption.interrupt(tooSlow()))
  try {
    for (const way of ways) {
      const { route } = way.candidate
      if (objections.has(route)) continue
      if (asked === MAX_ATTEMPTS) break
      const preparation = written(counting, way)
      if (preparation instanceof GatewayError) {
        objections.set(route, preparation)
        continue
      }
      asked += 1
      const answer = await ask(counting, way, preparation)
      if (!(answer instanceof GatewayError)) return { body: answer, by: 'upstream' }
      record.error = answer
    }
  } finally {
    stopTimer()
  }
  const [objection] = objections.values()
  const isServed = (route: Route) => !objections.has(route) || isServedWithMedia(counting, route)
  if (objection !== undefined && !model.routes.some(isServed)) throw objection
  return { body: JSON.stringify(estimated(prompt)), by: 'estimate' }
}

const utf8 = new TextDecoder()

/** A candidate whose upstream can be asked. */
interface CountingWay {
  candidate: Candidate
  codec: CountingCodec
}

function countingWay(candidate: Candidate): CountingWay[] {
  const codec = CODECS[candidate.route.channel.format]
  return canCount(codec) ? [{ candidate, codec }] : []
}

/** Whether media are fetched for the request itself where a route's format has no word for them, as for a count they are not. */
function isServedWithMedia({ gateway, prompt, model }: Counting, route: Route): boolean {
  if (!gateway.fetchesMedia()) return false
  const codec = CODECS[route.channel.format]
  return mediaToFetch(decodeCounted(prompt), codec, targetOf(model, route)).size > 0
}

/** The request for one route, or why it cannot be written. */
function written(counting: Counting, way: CountingWay): Sendable | GatewayError {
  try {
    return prepareCount(counting, way)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/**
 * The answer of one route as text for the caller, or why there is none.
 * @throws GatewayError that the caller has to know of
 */
async function ask(
  counting: Counting,
  { candidate, codec }: CountingWay,
  preparation: Sendable,
): Promise<string | GatewayError> {
  const { route } = candidate
  const { gateway, record, prompt } = counting
  const { attempts } = gateway.metrics
  const channel = route.channel.name
  record.attempts += 1
  record.channel = channel
  record.channelFormat = route.channel.format
  try {
    const answer = await fetchWhole(counting, { preparation, candidate }, bytes =>
      readCount(utf8.decode(bytes), prompt, codec),
    )
    attempts.of(channel, 'ok').add()
    return answer
  } catch (error) {
    const failure = asGatewayError(error)
    attempts.of(channel, failure.kind).add()
    if (isCallersFault(failure)) throw failure
    return failure
  }
}

function prepareCount({ prompt, model }: Counting, { candidate: { route }, codec }: CountingWay): Sendable {
  const call = { kind: 'count-tokens', model: route.upstreamModel, stream: false } as const
  if (isPassthrough(prompt, route)) {
    const { body, headers } = passOn(prompt, {
      target: targetOf(model, route),
      purpose: 'count-tokens',
      lose: () => {},
    })
    return { call, headers, body: renameInside(body, prompt, route) }
  }
  const { functionToolsOnly } = route.channel
  const { headers, body } = inCallersWords(CODECS[prompt.format], parsedBody(prompt), () =>
    lowerCount(decodeCounted(prompt), codec, targetOf(model, route), functionToolsOnly),
  )
  return { call, headers, body: Buffer.from(wellFormed(JSON.stringify(body))) }
}

/** Gemini's long form names the model once more, in the request that it holds. */
function renameInside(body: Uint8Array, prompt: Prompt, { upstreamModel }: Route): Uint8Array {
  if (prompt.format !== 'gemini-generate-content') return body
  const outline = outlineOf(prompt.body)
  const field = LONG_FORMS.find(name => asObject(outline[name])?.['model'] !== undefined)
  if (field === undefined) return body
  return spliceJson(body, [{ path: [field, 'model'], value: geminiName(upstreamModel) }])
}

const LONG_FORMS = ['generateContentRequest', 'generate_content_request'] as const

/** @throws GatewayError `overloaded` where there is no memory for what is made of it */
function parsedBody({ body, room }: Prompt): JsonObject {
  room?.take(body.bytes.length)
  return body.json
}

/** The request whose tokens are asked for, in a body or its outline. */
function countedIn(json: JsonObject, { format }: Prompt): JsonObject {
  if (format !== 'gemini-generate-content') return json
  return LONG_FORMS.map(name => asObject(json[name])).find(inner => inner !== undefined) ?? json
}

function decodeCounted(prompt: Prompt): GenerationRequest {
  const body = countedIn(parsedBody(prompt), prompt)
  // A count has no answer to limit, but a message must have a limit.
  const complete = prompt.format === 'anthropic-messages' ? { max_tokens: 1, ...body } : body
  const request = decodeBody(complete, prompt.format, { model: prompt.model, stream: false })
  return { ...request, maxOutputTokens: undefined }
}

/** An upstream of the caller's own format may say more than the number, so its answer stays as it is. */
function readCount(text: string, prompt: Prompt, codec: CountingCodec): string {
  const json = parseObject(text)
  const fault = json && faultInBody(json, () => text)
  if (fault !== undefined) throw fault
  const tokens = json && codec.tokenCount.decodeResponse(json)
  if (tokens === undefined) throw new GatewayError('upstream_error', 'The upstream answered without a count')
  return codec.format === prompt.format ? text : JSON.stringify(encoded(tokens, prompt))
}

function estimated(prompt: Prompt): JsonObject {
  const { body } = prompt
  const counted = countedIn(outlineOf(body), prompt)
  return encoded(estimateTokens(counted, body.bytes.length, textsOf(body)), prompt)
}

function encoded(tokens: number, prompt: Prompt): JsonObject {
  return CODECS[prompt.format].tokenCount?.encodeResponse(tokens) ?? { total_tokens: tokens }
}

/** How an upstream says that it cannot count, or not for this model. */
const CANNOT_COUNT = new Set([404, 405, 501])

function isCallersFault({ kind, status }: GatewayError): boolean {
  if (kind === 'upstream_rejected') return !CANNOT_COUNT.has(status)
  return !kind.startsWith('upstream_')
}

function tooSlow(): GatewayError {
  return new GatewayError('upstream_timeout', 'The upstream did not count in time')
}

/** One log line and one count; counting is free, so nothing is kept for the ledger. */
function report(gateway: Gateway, record: ExchangeRecord, countedBy: TokenCount['by'] | 'nobody'): void {
  const { error, surface, status } = record
  const model = record.model ?? ''
  gateway.metrics.tokenCounts.inc({ surface, model, counted_by: countedBy, status })
  const line = {
    request_id: record.id,
    surface,
    model: record.model,
    channel: record.channel,
    format: record.channelFormat,
    account: record.caller?.accountId,
    key: record.caller?.keyId,
    status,
    counted_by: countedBy,
    attempts: record.attempts,
    total_ms: gateway.clock.elapsed() - record.begunAt,
  }
  logCall(gateway.log, 'token count', line, error)
}
