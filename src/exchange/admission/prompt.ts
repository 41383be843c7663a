import { GatewayError } from '@/errors/gateway-error.ts'
import type { ModelCall } from '@/formats/codec.ts'
import type { Fetched } from '@/formats/media/media-urls.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Format } from '@/generation/format.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { type ConversationSurface, SURFACE_FORMAT } from '@/generation/surface.ts'
import { isDeeperThan } from '@/json/depth.ts'
import { withDigits } from '@/json/exact.ts'
import { type JsonObject, MAX_LEVELS } from '@/json/json.ts'
import type { RefusableWish } from '@/routing/refused-wishes.ts'
import type { RequestBody } from './body.ts'
import type { MadeRoom } from './made-room.ts'

/** What a caller asks for, before any channel is chosen. */
export class Prompt {
  /** The format of the body. */
  readonly format: Format
  /** The format of the reply: the surface's own. */
  readonly replyFormat: Format
  /** The model as the caller named it. */
  readonly model: string
  readonly stream: boolean
  /** How a stream is framed: server-sent events, or Gemini's JSON array. */
  readonly framing: 'sse' | 'json-array'
  /**
   * What is wanted of the conversation. `answer`: an answer. `compaction-item`: an answer that is a compaction item, or a
   * summary from an upstream that makes no such items. `compact`: to have it compacted, or a summary from an upstream of
   * another format. `summary`: a summary, whatever the upstream could do.
   */
  readonly purpose: 'answer' | 'compaction-item' | 'compact' | 'summary'
  #body: RequestBody | undefined
  #headers: Headers | undefined
  #generation: GenerationRequest | undefined

  constructor(options: {
    surface: ConversationSurface
    body: RequestBody
    model: string
    stream: boolean
    framing: 'sse' | 'json-array'
    headers: Headers
    purpose?: Prompt['purpose']
    format?: Format
  }) {
    this.replyFormat = SURFACE_FORMAT[options.surface]
    this.format = options.format ?? this.replyFormat
    this.#body = options.body
    this.model = options.model
    this.stream = options.stream
    this.framing = options.framing
    this.#headers = options.headers
    this.purpose = options.purpose ?? 'answer'
  }

  /** The limit that the balance sets, in tokens, where it pays for no more and the caller set none. */
  outputLimit: number | undefined

  /** Set once an upstream could not read the reasoning of earlier turns: from then on it is left out. */
  withoutReasoning = false

  /** What the upstream that is asked next refuses to be asked for. */
  refusedWishes: readonly RefusableWish[] = []

  /** What stood at addresses in it, by address; undefined: nothing was fetched. */
  media: Map<string, Fetched> | undefined

  /** For what is made of the body where it is written anew; undefined: that needs none. */
  room: MadeRoom | undefined

  get body(): RequestBody {
    return remembered(this.#body)
  }

  /** The caller's request headers, to take the few from that may pass. */
  get headers(): Headers {
    return remembered(this.#headers)
  }

  /**
   * Lets go of all that the caller said, which may be megabytes, for the rest of an answer that takes minutes. To be
   * called once nobody asks for it any more: an answer of some route was let through.
   */
  forget(): void {
    this.#body = undefined
    this.#headers = undefined
    this.#generation = undefined
    this.media = undefined
    this.room?.giveBack()
  }

  /** Whether an upstream of this format could read the body as it is, and the caller its answer. */
  isOf(format: Format): boolean {
    return format === this.format && format === this.replyFormat
  }

  /** Whether the answer's first event says how long the prompt is, which upstreams of other formats say last. */
  get namesInputFirst(): boolean {
    return this.stream && this.replyFormat === 'anthropic-messages'
  }

  /**
   * The request in no vendor's words; decoded once, and only if some channel speaks another format.
   * @throws GatewayError `invalid_request`
   */
  generation(): GenerationRequest {
    if (this.#generation === undefined) {
      const { body, format, model, stream } = this
      this.#generation = decodeBody(body.json, format, { model, stream }, () => utf8.decode(body.bytes))
    }
    return this.#generation
  }
}

function remembered<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the prompt was forgotten by then')
  return value
}

const utf8 = new TextDecoder()

/**
 * Reads a caller's body in the caller's format.
 * @param text what the body was parsed from, where every digit of tool input is wanted
 * @throws GatewayError `invalid_request`
 */
export function decodeBody(
  body: JsonObject,
  format: Format,
  call: ModelCall,
  text: () => string = () => '',
): GenerationRequest {
  if (isDeeperThan(body, MAX_LEVELS)) {
    throw new GatewayError('invalid_request', `The body is nested more than ${MAX_LEVELS} levels deep`)
  }
  const codec = CODECS[format]
  return codec.decodeRequest(withDigits(body, text, codec.dataKeys), call)
}
