import { freeBytes, outlineOf, textsOf } from '@/exchange/admission/body.ts'
import type { Prompt } from '@/exchange/admission/prompt.ts'
import { targetOf } from '@/exchange/admission/target.ts'
import { askedTier } from '@/exchange/billing/service-tier.ts'
import { estimateTokens } from '@/exchange/billing/token-estimate.ts'
import type { Codec, DecodeContext, ReplyContext } from '@/formats/codec.ts'
import { isUnthought, wantedEffort } from '@/formats/effort.ts'
import { inCallersWords, nameLosses, refuseLosses } from '@/formats/lowering/caller-words.ts'
import { lowerRequest, type Raiser } from '@/formats/lowering/lowering.ts'
import { type FetchedByUrl, withMedia } from '@/formats/media/media-urls.ts'
import { CODECS } from '@/formats/registry.ts'
import { withoutReasoning } from '@/formats/signatures/without-reasoning.ts'
import { takenCallIds } from '@/formats/tools/call-ids.ts'
import type { Format } from '@/generation/format.ts'
import type { Loss } from '@/generation/loss.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import type { JsonObject } from '@/json/json.ts'
import { wellFormed } from '@/json/well-formed.ts'
import type { Model, Route } from '@/routing/model.ts'
import type { RefusableWish } from '@/routing/refused-wishes.ts'
import type { UpstreamCall } from '@/upstream/endpoint.ts'
import { isPassthrough, passedHeaders, passOn, type SentRequest } from './passthrough-request.ts'
import { summarising } from './summary.ts'

/** A prompt made ready for one route: what to send, and how to read what comes back. */
export interface Preparation extends SentRequest {
  requestId: string
  call: UpstreamCall
  /** Request fields that the upstream's format cannot say, in the caller's words. */
  losses: readonly string[]
  askedTier: string | undefined
  asksForSummary: boolean
  /** The upstream's format. */
  codec: Codec
  decodeContext: DecodeContext
  /** Undefined: the upstream's bytes are the caller's answer. */
  conversion: Conversion | undefined
  /** What a reply in the caller's format repeats of the request. Called only where a reply is written. */
  reply: () => ReplyContext
}

/** How an answer is written for a caller of another format. */
interface Conversion {
  caller: Codec
  /** Undoes on the answer what was changed in the request because the upstream's format could not say it. */
  createRaiser: (() => Raiser) | undefined
}

/** What a request is written with, beside the request itself. */
export interface PrepareOptions {
  requestId: string
  now: number
  newId: () => string
  /** How many answers are asked for. */
  answers: number
  /** True: a loss is a 400. */
  strict: boolean
  /** True: the conversation before was kept here, and the caller has no say in which thoughts it brings back. */
  goesOn: boolean
  /** Media that were fetched since the route's format cannot take their addresses, by address. */
  media?: FetchedByUrl | undefined
}

/**
 * Writes the request for a route. Where the upstream speaks the caller's format, the caller's own bytes are handed on
 * (`isPassthrough` has the exceptions); else the request is decoded, and encoded anew.
 * @throws GatewayError `invalid_request`, `unsupported_parameter`, `overloaded` where there is no memory for writing it anew
 */
export function prepare(prompt: Prompt, model: Model, route: Route, options: PrepareOptions): Preparation {
  return isPassthrough(prompt, route)
    ? preparePassthrough(prompt, model, route, options)
    : prepareConversion(prompt, model, route, options)
}

function preparePassthrough(
  prompt: Prompt,
  model: Model,
  route: Route,
  options: PrepareOptions,
): Preparation {
  const { format } = route.channel
  const isCompaction = prompt.purpose === 'compact'
  const lost = forgotten(prompt)
  const { body, headers } = passOn(prompt, {
    target: targetOf(model, route),
    purpose: isCompaction ? 'compact' : 'answer',
    lose: field => lost.push({ field, name: undefined }),
  })
  const losses = lost.length === 0 ? [] : toldLosses(lost, CODECS[format], prompt, options)
  return {
    ...commonOf(prompt, route, options),
    call: { kind: isCompaction ? 'compact' : 'generate', model: route.upstreamModel, stream: prompt.stream },
    body,
    headers,
    losses,
    askedTier: tierAsked(model, format, outlineOf(prompt.body)),
    asksForSummary: false,
    conversion: undefined,
  }
}

function prepareConversion(prompt: Prompt, model: Model, route: Route, options: PrepareOptions): Preparation {
  prompt.room?.take(prompt.body.bytes.length)
  const { channel } = route
  const codec = CODECS[channel.format]
  const caller = CODECS[prompt.format]
  const { outputLimit } = prompt
  const asksForSummary = prompt.purpose !== 'answer'
  const target = targetOf(model, route)
  const lowered = inCallersWords(caller, prompt.body.json, () =>
    lowerRequest(
      limited(withMedia(asked(prompt, asksForSummary), options.media), outputLimit),
      codec,
      {
        ...target,
        // What the balance pays for has to do for thought as well.
        maxOutputTokens: outputLimit ?? target.maxOutputTokens,
        // A caller of the same format marks by itself what is to be cached.
        cachesPrompts: channel.cachePrompts && caller !== codec,
      },
      channel,
    ),
  )
  const losses = toldLosses(
    [...lowered.losses, ...forgotten(prompt), ...unasked(prompt)],
    caller,
    prompt,
    options,
  )
  return {
    ...commonOf(prompt, route, options, takenCallIds(prompt.generation().turns)),
    call: { kind: 'generate', model: route.upstreamModel, stream: prompt.stream },
    body: Buffer.from(wellFormed(JSON.stringify(lowered.body))),
    // A request that stays in the caller's format may rely on the caller's headers, though it was written anew.
    headers: caller === codec ? { ...passedHeaders(prompt), ...lowered.headers } : lowered.headers,
    losses,
    askedTier: tierAsked(model, channel.format, lowered.body),
    asksForSummary,
    conversion: { caller: CODECS[prompt.replyFormat], createRaiser: lowered.createRaiser },
  }
}

/**
 * The losses in the caller's words.
 * @throws GatewayError `unsupported_parameter` for one in strict mode, but for that of thoughts which were kept here: the
 * caller cannot leave them out
 */
function toldLosses(losses: readonly Loss[], caller: Codec, { body }: Prompt, options: PrepareOptions) {
  if (options.strict) {
    const own = options.goesOn ? losses.filter(({ field }) => field !== 'reasoningHistory') : losses
    refuseLosses(nameLosses(own, caller, body.json))
  }
  return nameLosses(losses, caller, body.json)
}

/** What is the same for both. */
function commonOf(prompt: Prompt, { channel }: Route, options: PrepareOptions, takenIds?: readonly string[]) {
  return {
    requestId: options.requestId,
    codec: CODECS[channel.format],
    decodeContext: { vendor: channel.vendor, newId: options.newId, takenIds, answers: options.answers },
    reply: () => replyContext(prompt, options),
  }
}

/** The service tier that a body asks for, where the model has prices for tiers. */
function tierAsked(model: Model, format: Format, body: JsonObject): string | undefined {
  return hasTierPrices(model) ? askedTier(format, body) : undefined
}

function hasTierPrices({ price }: Model): boolean {
  return price !== undefined && price.rates.serviceTiers.size > 0
}

/** The loss of reasoning that an upstream could not read. */
function forgotten(prompt: Prompt): Loss[] {
  return prompt.withoutReasoning ? [{ field: 'reasoningHistory', name: undefined }] : []
}

/** The loss of what an upstream is not asked for since it refuses that. */
function unasked(prompt: Prompt): Loss[] {
  const { refusedWishes } = prompt
  const reasoning = refusedWishes.length === 0 ? undefined : prompt.generation().reasoning
  if (reasoning === undefined) return []
  if (refusedWishes.includes('thinking')) {
    const wanted = wantedEffort(reasoning) ?? 'none'
    return isUnthought(wanted) ? [] : [{ field: 'reasoning', name: undefined }]
  }
  return (reasoning.summary ?? 'none') === 'none' ? [] : [{ field: 'reasoning', name: 'summary' }]
}

/** Frees the body that was sent. To be called once the upstream answers; another route would get a body made anew. */
export function freeSent({ body }: Preparation, prompt: Prompt): void {
  freeBytes(body, prompt.body.bytes)
}

const NO_BYTES = new Uint8Array(0)

/** Forgets the request. To be called once output was let through, since no other route will be tried. */
export function forgetAsked(preparation: Preparation, prompt: Prompt): void {
  preparation.body = NO_BYTES
  prompt.forget()
}

/** The request that the model gets: the caller's own, or one for a summary of the conversation. */
function asked(prompt: Prompt, asksForSummary: boolean): GenerationRequest {
  const said = prompt.generation()
  const known = prompt.withoutReasoning ? withoutReasoning(said) : said
  const request = prompt.refusedWishes.length === 0 ? known : withoutWishes(known, prompt.refusedWishes)
  return asksForSummary ? summarising(request) : request
}

/** Without what the upstream refuses to be asked of thoughts. */
function withoutWishes(request: GenerationRequest, refused: readonly RefusableWish[]): GenerationRequest {
  const { reasoning } = request
  if (reasoning === undefined) return request
  const isUnasked = refused.includes('thinking')
  return { ...request, reasoning: isUnasked ? undefined : { ...reasoning, summary: undefined } }
}

/** The request with the output limit that the balance sets, where the caller set none. */
function limited(request: GenerationRequest, limit: number | undefined): GenerationRequest {
  return limit === undefined ? request : { ...request, maxOutputTokens: limit }
}

function replyContext(prompt: Prompt, options: PrepareOptions): ReplyContext {
  const { reasoning } = prompt.generation()
  return {
    requestId: options.requestId,
    createdAt: Math.floor(options.now / 1000),
    model: prompt.model,
    request: { reasoning },
    wire: withoutTalk(prompt.body.json),
    estimatedInputTokens: prompt.namesInputFirst
      ? estimateTokens(outlineOf(prompt.body), prompt.body.bytes.length, textsOf(prompt.body))
      : undefined,
  }
}

/** A body without its conversation, which no answer repeats. */
function withoutTalk(body: JsonObject): JsonObject {
  const { messages, input, contents, system, systemInstruction, system_instruction, ...rest } = body
  return rest
}
