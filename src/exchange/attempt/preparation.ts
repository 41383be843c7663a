import { freeBytes, outlineOf, textsOf } from '@/exchange/admission/body.ts'
import type { Prompt } from '@/exchange/admission/prompt.ts'
import { askedTier } from '@/exchange/billing/service-tier.ts'
import { estimateTokens } from '@/exchange/billing/token-estimate.ts'
import type { Codec, DecodeContext, ReplyContext, Target } from '@/formats/codec.ts'
import { inCallersWords, nameLosses, refuseLosses } from '@/formats/lowering/caller-words.ts'
import { lowerRequest, type Raiser } from '@/formats/lowering/lowering.ts'
import { type FetchedByUrl, withMedia } from '@/formats/media/media-urls.ts'
import { CODECS } from '@/formats/registry.ts'
import { withoutReasoning } from '@/formats/signatures/without-reasoning.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import type { JsonObject } from '@/json/json.ts'
import { wellFormed } from '@/json/well-formed.ts'
import type { Model, Route } from '@/routing/model.ts'
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
  /** The upstream's format. */
  codec: Codec
  decodeContext: DecodeContext
  /** Undefined: the upstream's bytes are the caller's answer. */
  conversion: Conversion | undefined
  /** What a reply in the caller's format says beside the answer. Made only where a reply is written. */
  reply: () => ReplyContext
}

/** What stands between an answer's events and the caller when the formats differ. */
export interface Conversion {
  caller: Codec
  /** Undoes what was done to the request because the upstream's format could not say it. */
  createRaiser: (() => Raiser) | undefined
}

/** What a request is written with, beside the request itself. */
export interface PrepareOptions {
  requestId: string
  now: number
  newId: () => string
  /** True: a loss is a 400. */
  strict: boolean
  /** What stands at addresses that the route's format cannot take, by address. */
  media?: FetchedByUrl | undefined
}

/**
 * Chooses between handing the caller's bytes on and writing the request anew. The same format on both sides is
 * passthrough, unless the upstream takes function tools only, or the caller sends back a signature that we wrapped.
 * @throws GatewayError `invalid_request`, `unsupported_parameter`
 */
export function prepare(prompt: Prompt, model: Model, route: Route, options: PrepareOptions): Preparation {
  const { channel } = route
  const codec = CODECS[channel.format]
  const common = {
    call: { kind: 'generate', model: route.upstreamModel, stream: prompt.stream } as const,
    requestId: options.requestId,
    codec,
    decodeContext: { vendor: channel.vendor, newId: options.newId },
    reply: () => replyContext(prompt, options),
  }
  const tierOf = (body: JsonObject) => (hasTierPrices(model) ? askedTier(codec.format, body) : undefined)
  if (isPassthrough(prompt, route)) {
    const purpose = prompt.purpose === 'compact' ? 'compact' : 'answer'
    const call = purpose === 'compact' ? ({ ...common.call, kind: 'compact' } as const) : common.call
    const sent = passOn(prompt, { target: targetOf(model, route), purpose })
    return {
      ...common,
      call,
      ...sent,
      losses: forgotten(prompt, codec),
      askedTier: tierOf(outlineOf(prompt.body)),
      conversion: undefined,
    }
  }
  const caller = CODECS[prompt.format]
  const lowered = inCallersWords(caller, prompt.body.json, () =>
    lowerRequest(
      limited(withMedia(asked(prompt), options.media), prompt.outputLimit),
      codec,
      targetOf(model, route),
      channel,
    ),
  )
  const losses = [...nameLosses(lowered.losses, caller, prompt.body.json), ...forgotten(prompt, caller)]
  if (options.strict) refuseLosses(losses)
  return {
    ...common,
    body: Buffer.from(wellFormed(JSON.stringify(lowered.body))),
    // What a request of the caller's own format may rely on, though it was written anew.
    headers: caller === codec ? { ...passedHeaders(prompt), ...lowered.headers } : lowered.headers,
    losses,
    askedTier: tierOf(lowered.body),
    conversion: { caller, createRaiser: lowered.createRaiser },
  }
}

function hasTierPrices({ price }: Model): boolean {
  return price !== undefined && price.rates.serviceTiers.size > 0
}

/** What was left out because an upstream could not read it, in the caller's words. */
function forgotten(prompt: Prompt, caller: Codec): string[] {
  if (!prompt.withoutReasoning) return []
  return nameLosses([{ field: 'reasoningHistory', name: undefined }], caller, prompt.body.json)
}

/** To be called once the upstream answers: fetch has a copy, and another route gets a body anew, made of the caller's. */
export function freeSent({ body }: Preparation, prompt: Prompt): void {
  freeBytes(body, prompt.body.bytes)
}

const NO_BYTES = new Uint8Array(0)

/** To be called once an answer was let through: no other route is tried, and what was asked is not needed any more. */
export function forgetAsked(preparation: Preparation, prompt: Prompt): void {
  preparation.body = NO_BYTES
  prompt.forget()
}

/** The upstream model of a route, as codecs want to know of it. */
export function targetOf(model: Model, { channel, upstreamModel }: Route): Target {
  return { model: upstreamModel, vendor: channel.vendor, maxOutputTokens: model.maxOutputTokens }
}

/** What a model is asked; for a compaction, the summary that it is made of. */
function asked(prompt: Prompt): GenerationRequest {
  const said = prompt.generation()
  const request = prompt.withoutReasoning ? withoutReasoning(said) : said
  return prompt.purpose === 'answer' ? request : summarising(request)
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

/** A body without what was said in it, which no answer repeats. */
function withoutTalk(body: JsonObject): JsonObject {
  const { messages, input, contents, system, systemInstruction, system_instruction, ...rest } = body
  return rest
}
