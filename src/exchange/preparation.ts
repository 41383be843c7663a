import type { Codec, DecodeContext, ReplyContext, Target } from '@/formats/codec.ts'
import { inCallersWords, lowerRequest, nameLosses, type Raiser, refuseLosses } from '@/formats/lowering.ts'
import { type FetchedByUrl, withMedia } from '@/formats/media-urls.ts'
import { modelRules } from '@/formats/openai-responses/model-rules.ts'
import { CODECS } from '@/formats/registry.ts'
import { carriesWrappedSignature } from '@/formats/signature.ts'
import type { Format } from '@/generation/format.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { asArray, asObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import type { Texts } from '@/json/outline.ts'
import { sliceItems } from '@/json/slice.ts'
import type { JsonEdit } from '@/json/splice.ts'
import type { Model, Route } from '@/routing/model.ts'
import type { UpstreamCall } from '@/upstream/endpoint.ts'
import { editBody, freeBytes, outlineOf, textsOf } from './body.ts'
import type { Prompt } from './prompt.ts'
import { summarising } from './responses/summary.ts'
import { estimateTokens } from './token-estimate.ts'

/** A prompt made ready for one route: what to send, and how to read what comes back. */
export interface Preparation {
  requestId: string
  call: UpstreamCall
  /** Good until another preparation of the same prompt (`editBody`). */
  body: Uint8Array
  headers: Readonly<Record<string, string>>
  /** Request fields that the upstream's format cannot say, in the caller's words. */
  losses: readonly string[]
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
  if (prompt.purpose === 'compact' && isPassthrough(prompt, route)) {
    const call = { ...common.call, kind: 'compact' } as const
    return { ...common, call, ...passOn(prompt, route), losses: [], conversion: undefined }
  }
  if (isPassthrough(prompt, route)) {
    return {
      ...common,
      ...passOn(prompt, route, statelessEdits(prompt, route)),
      losses: [],
      conversion: undefined,
    }
  }
  const caller = CODECS[prompt.format]
  const lowered = inCallersWords(caller, prompt.body.json, () =>
    lowerRequest(
      limited(withMedia(asked(prompt), options.media), prompt.outputLimit),
      codec,
      targetOf(model, route),
      channel.functionToolsOnly,
    ),
  )
  const losses = nameLosses(lowered.losses, caller, prompt.body.json)
  if (options.strict) refuseLosses(losses)
  return {
    ...common,
    body: Buffer.from(JSON.stringify(lowered.body)),
    headers: lowered.headers,
    losses,
    conversion: { caller, createRaiser: lowered.createRaiser },
  }
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
  return prompt.purpose === 'answer' ? prompt.generation() : summarising(prompt.generation())
}

/** The request with the output limit that the balance sets, where the caller set none. */
function limited(request: GenerationRequest, limit: number | undefined): GenerationRequest {
  return limit === undefined ? request : { ...request, maxOutputTokens: limit }
}

/** Whether a route can be given the caller's own bytes. */
export function isPassthrough(prompt: Prompt, { channel }: Route): boolean {
  const passes =
    channel.format === prompt.format && !channel.functionToolsOnly && prompt.purpose !== 'summary'
  return passes && !carriesWrappedSignature(prompt.body.bytes, prompt.body.outline)
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

/** The caller's own bytes, with nothing changed but what the gateway owns, and `more`. */
export function passOn(
  prompt: Prompt,
  route: Route,
  more: readonly JsonEdit[] = [],
): Pick<Preparation, 'body' | 'headers'> {
  return {
    body: editBody(prompt.body, [...ownedEdits(prompt, route), ...more]),
    headers: passedHeaders(prompt),
  }
}

function ownedEdits(prompt: Prompt, route: Route): JsonEdit[] {
  const edits: JsonEdit[] = []
  const json = outlineOf(prompt.body)
  if (
    json['model'] !== undefined &&
    json['model'] !== route.upstreamModel &&
    prompt.format !== 'gemini-generate-content'
  ) {
    edits.push({ path: ['model'], value: route.upstreamModel })
  }
  if (prompt.format === 'openai-chat-completions' && prompt.stream && !asksForUsage(json)) {
    edits.push({ path: ['stream_options', 'include_usage'], value: true })
  }
  if (prompt.outputLimit !== undefined) {
    edits.push({ path: outputLimitPath(prompt, route), value: prompt.outputLimit })
  }
  // Codex tells its vendor of the caller's machine here: session ids, local paths (clients.md 6.2).
  if (prompt.format === 'openai-responses' && json['client_metadata'] !== undefined) {
    edits.push({ path: ['client_metadata'], value: {} })
  }
  return edits
}

const ENCRYPTED = 'reasoning.encrypted_content'

/**
 * Keeps a Responses upstream from keeping anything: what is kept is kept here, and a store that all of the gateway's
 * callers share is nobody's. So reasoning has to travel with the conversation, and references to what the upstream
 * would have kept lead nowhere: those to reasoning are taken out (clients.md 1.10), as for any other upstream.
 */
function statelessEdits(prompt: Prompt, route: Route): JsonEdit[] {
  if (prompt.format !== 'openai-responses') return []
  const { bytes } = prompt.body
  const json = outlineOf(prompt.body)
  const edits: JsonEdit[] = []
  if (json['store'] !== false) edits.push({ path: ['store'], value: false })
  const include = asArray(json['include'])
  if (!include.includes(ENCRYPTED) && modelRules(route.upstreamModel).reasons === true) {
    const spelled = include.length === 0 ? [] : (sliceItems(bytes, 'include') ?? [])
    edits.push({ path: ['include'], text: `[${[...spelled, JSON.stringify(ENCRYPTED)].join(',')}]` })
  }
  const items = asArray(json['input'])
  const texts = textsOf(prompt.body)
  const isLost = (item: JsonValue | undefined) => isLostReasoning(item, texts)
  if (items.some(isLost)) {
    const spelled = sliceItems(bytes, 'input') ?? []
    const kept = spelled.filter((_, index) => !isLost(items[index]))
    edits.push({ path: ['input'], text: `[${kept.join(',')}]` })
  }
  return edits
}

/** Reasoning by reference only: its text, if any, is no use without what the upstream would have kept. */
function isLostReasoning(value: JsonValue | undefined, texts: Texts): boolean {
  const item = asObject(value)
  const id = item?.['id']
  if (typeof id !== 'string' || !texts.whole(id).startsWith('rs_')) return false
  if (item?.['type'] === 'item_reference') return true
  return item?.['type'] === 'reasoning' && !item['encrypted_content'] && asArray(item['content']).length === 0
}

/** Where each format has the limit of the answer's length. Of Chat's two, OpenAI has left one behind and others do not know the other. */
function outputLimitPath(prompt: Prompt, { channel }: Route): string[] {
  switch (prompt.format) {
    case 'openai-chat-completions':
      return [channel.vendor.endsWith('openai.com') ? 'max_completion_tokens' : 'max_tokens']
    case 'openai-responses':
      return ['max_output_tokens']
    case 'anthropic-messages':
      return ['max_tokens']
    case 'gemini-generate-content':
      return [
        'generation_config' in outlineOf(prompt.body) ? 'generation_config' : 'generationConfig',
        'maxOutputTokens',
      ]
  }
}

/** Whether a Chat caller wants the usage chunk itself; the gateway asks the upstream for it always. */
export function asksForUsage(json: JsonObject): boolean {
  return asObject(json['stream_options'])?.['include_usage'] === true
}

/** Request headers that an upstream of the caller's own format may see. Everything else stays here. */
const PASSED_HEADERS: Record<Format, readonly string[]> = {
  'openai-chat-completions': ['openai-beta'],
  'openai-responses': ['openai-beta'],
  'anthropic-messages': ['anthropic-version', 'anthropic-beta'],
  'gemini-generate-content': [],
}

/** The version that Anthropic's API wants from a caller who forgot it. */
const DEFAULT_ANTHROPIC_VERSION = '2023-06-01'

const NO_HEADERS = Object.freeze({})

/** What nearly all callers of a format say, or would if they said anything: always the same frozen object. */
const USUAL_HEADERS: Record<Format, Readonly<Record<string, string>>> = {
  'openai-chat-completions': NO_HEADERS,
  'openai-responses': NO_HEADERS,
  'anthropic-messages': Object.freeze({ 'anthropic-version': DEFAULT_ANTHROPIC_VERSION }),
  'gemini-generate-content': NO_HEADERS,
}

function passedHeaders(prompt: Prompt): Readonly<Record<string, string>> {
  const usual = USUAL_HEADERS[prompt.format]
  let headers = usual
  for (const name of PASSED_HEADERS[prompt.format]) {
    const value = prompt.headers.get(name)
    if (value !== null && value !== usual[name]) headers = { ...headers, [name]: value }
  }
  return headers
}
