import type { GatewayError } from '@/errors/gateway-error.ts'
import type { ReplyRoom } from '@/formats/answer-losses.ts'
import type { StreamDecoder, StreamEncoder } from '@/formats/plain/plain-text.ts'
import type { Format } from '@/generation/format.ts'
import type { Loss, RequestField } from '@/generation/loss.ts'
import type { MediaPart } from '@/generation/part.ts'
import type { ReasoningField } from '@/generation/reasoning-field.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import type { GenerationResponse } from '@/generation/response.ts'
import type { HostedTool } from '@/generation/tool.ts'
import type { Usage } from '@/generation/usage.ts'
import type { JsonObject } from '@/json/json.ts'
import type { Texts } from '@/json/outline.ts'
import type { JsonEdit } from '@/json/splice.ts'

/**
 * All that Tollgate knows about one wire format. decode is wire to generation, encode is generation to wire; both
 * are pure: ids and time are arguments, nothing is awaited. Converting A to B is A's decode, then B's encode.
 */
export interface Codec {
  readonly format: Format

  /**
   * Reads a caller's request. `model` and `stream` come beside the body because Gemini has them in its path.
   * @throws GatewayError `invalid_request` with `param` when the body breaks the format's rules.
   */
  decodeRequest(body: JsonObject, call: ModelCall): GenerationRequest

  /**
   * Writes a request for an upstream. Never fails for a hint: what the format cannot say is a loss.
   * Function and hosted tools, and custom ones where the format takes them; others were lowered before (formats/tools/lower.ts).
   * Deterministic: the same request gives the same bytes, since prompt caches live on that.
   * @throws GatewayError `unsupported_parameter` where ignoring a field would change what the caller relies on.
   */
  encodeRequest(request: GenerationRequest, target: Target): EncodedRequest

  /**
   * The most output that `encodeRequest` asks for, where that may be more than the request's own limit: the API takes no
   * less, or thought comes on top. Undefined: never more.
   */
  readonly mostOutput: ((wish: OutputWish, target: Target) => number | undefined) | undefined

  /** Reads an upstream's whole answer. Unknown fields and values are carried past, never an error. */
  decodeResponse(body: JsonObject, context: DecodeContext): GenerationResponse

  /**
   * The usage that decodeResponse would find in a whole answer, without reading the answer. Undefined where only
   * decodeResponse can tell: an error, no answer, no usage, or one in an odd place.
   */
  reportedUsage(body: JsonObject): Usage | undefined

  /** The upstream's word for the service tier that served a whole answer; undefined: it says none. */
  servedTier(body: JsonObject): string | undefined

  /** Writes a whole answer for the caller. */
  encodeResponse(response: GenerationResponse, context: ReplyContext): JsonObject

  /**
   * Reads an upstream's stream. A stream that ends without its terminal mark, and an error inside it, come out as an
   * `error` event; no exception escapes whatever the upstream sends.
   */
  createStreamDecoder(context: DecodeContext): StreamDecoder

  /** Writes a stream for the caller: whole server-sent events as text, any number in one string. */
  createStreamEncoder(context: ReplyContext): StreamEncoder

  /** Writes an error as the body of an answer. The message ends in the request id. */
  encodeError(error: GatewayError, requestId: string): JsonObject

  /**
   * Writes an error that comes after output in a passthrough stream, whose events so far are the upstream's own.
   * @param lastData where events are numbered: the last one's `sequence_number` and the `response` that the first announced.
   * Where none was written: the response's `model` and `created_at`, if they are known.
   */
  encodeErrorEvent(error: GatewayError, requestId: string, lastData: JsonObject | undefined): string

  /** True where each event carries a number, so that an error of ours must go on counting. */
  readonly numbersEvents: boolean

  /** Reads an error body of an upstream: the format's own shape, other vendors', HTML, nothing. */
  decodeFault(status: number, body: string): UpstreamFault

  /**
   * True where a reply cannot leave out how much was used: what an upstream did not report is told as it was counted for
   * the charge. Elsewhere a reply is silent where the upstream was, unless the answer was ended before it could report.
   */
  readonly alwaysTellsUsage: boolean

  /** What a reply has room for; the rest of an answer is a loss (formats/answer-losses.ts). */
  readonly replyRoom: ReplyRoom

  /** What goes between two events after a silence, so that every client of the format survives it. */
  readonly keepalive: string

  /**
   * Whether an event of a passthrough stream may say something about usage, the end or an error, judged from its
   * bytes without parsing. False negatives lose money, false positives cost a parse.
   */
  isTelling(event: Uint8Array): boolean

  /**
   * How each neutral field is spelled in a request of this format, for loss reports and errors. Where a caller may
   * choose among several names: all of them, the usual one first.
   */
  readonly fieldNames: Record<RequestField, string | readonly [string, ...string[]]>

  /** Under which keys tool input, results and schemas stand as JSON values: their numbers keep every digit (json/exact.ts). */
  readonly dataKeys: ReadonlySet<string>

  /** Whether this upstream takes tools called with free text, unless its channel is said to take functions only. */
  takesCustomTools(target: Target): boolean

  /** Which names of tools and arguments this upstream accepts; others are mapped reversibly (formats/tools/names.ts). */
  toolNames(target: Target): ToolNameRule

  /**
   * Whether the upstream can be told the address of this media and reads it there itself. True as well for what it
   * could not be given as data either: fetching that would be for nothing.
   */
  takesUrl(part: MediaPart, url: string, target: Target): boolean

  /** Counting the tokens of a prompt; undefined where the format has no call for it. */
  readonly tokenCount: TokenCountCodec | undefined

  /** What is done where callers and upstreams speak this format, and bytes are handed on. */
  readonly passthrough: PassthroughCodec
}

/** The same format on both sides: what the gateway owns of the bytes, and nothing else. */
export interface PassthroughCodec {
  /**
   * Makes a caller's body one for this upstream: the model's name, what the gateway wants to know or limit, and what
   * another upstream left in the conversation that this one is known to refuse. All other bytes stay.
   */
  edits(body: PassedBody, passage: Passage): JsonEdit[]

  /** Whether a body may be handed on at all. One that the vendor refuses for its form alone is written anew. */
  takes(body: JsonObject): boolean

  /** What signs or encrypts the reasoning of a conversation, in its order; none where the format has no place for it. */
  signatures(body: PassedBody): string[]

  /** Request headers that an upstream may see. Everything else stays here. */
  readonly headers: readonly string[]

  /** What nearly all callers say in them, or would if they said anything: always the same frozen object. */
  readonly usualHeaders: Readonly<Record<string, string>>

  /** How a stream of the upstream's own events is read, and what of it the caller did not ask for. */
  listening(body: JsonObject): PassthroughListening
}

/** A caller's body that is handed on. */
export interface PassedBody {
  readonly bytes: Uint8Array
  /** What it says; of a large body the long strings may be placeholders, which `texts` knows. */
  readonly json: JsonObject
  readonly texts: Texts
}

/** Where a body is handed on to, and what for. */
export interface Passage {
  target: Target
  purpose: 'answer' | 'compact' | 'count-tokens'
  stream: boolean
  /** A limit of the answer that the caller did not set. */
  outputLimit: number | undefined
  /** The upstream could not read the reasoning of earlier turns, or takes none back: it is left out. */
  withoutReasoning: boolean
  /** Names what the caller sent and this upstream is known to refuse, so that it is left out. */
  lose: (field: RequestField) => void
}

/** See `PassthroughCodec.listening`. */
export interface PassthroughListening {
  /** The caller did not ask for the usage that the gateway asked for. */
  hidesUsage: boolean
  /** Several answers at once, of which each may begin and end at any time: no event may go by unread. */
  readsAll: boolean
  /**
   * Clients of the format die of what is no chunk: of comments, names of events, empty ones, and of the `[DONE]` that some
   * gateways put at the end of every format.
   */
  chunksOnly: boolean
}

/** What of a request decides how much output an upstream is asked for. */
export type OutputWish = Pick<GenerationRequest, 'maxOutputTokens' | 'reasoning'>

/** What of a call is not in its body in every format. */
export interface ModelCall {
  /** The model as the caller named it. */
  model: string
  stream: boolean
}

/** The upstream model that a request is written for. */
export interface Target {
  /** The upstream's name of the model. */
  model: string
  /**
   * Who made and can read this upstream's signatures. Two channels of one vendor share it
   * (`anthropic`, `openai`, or a host name).
   */
  vendor: string
  /** The model's largest output in tokens, where the operator or the catalogue says it. */
  maxOutputTokens: number | undefined
  /** True: a prompt without cache marks is to be kept, where the format keeps none unasked. Left out: it is not. */
  cachesPrompts?: boolean
  /** Where it takes thoughts of earlier turns back, where an operator says so: a format may have several places. */
  reasoningField?: ReasoningField | undefined
}

/** A request as an upstream of the format gets it, and what of it could not be said. */
export interface EncodedRequest {
  body: JsonObject
  losses: Loss[]
  /** Headers the body relies on (`anthropic-version`, `anthropic-beta`). */
  headers: Readonly<Record<string, string>>
  /** What the gateway must do to the answer because the format could not be asked for it. */
  emulate: Emulation
}

/** Things done to the answer's events in the upstream's stead (formats/lowering/emulation.ts). */
interface Emulation {
  /** Cut the answer's text at the first of these. */
  stop: readonly string[]
  /** The name of a forced tool whose input is the answer's text (structured output by tool). */
  outputTool: string | undefined
}

/** The format could be asked for everything. */
export const NO_EMULATION: Emulation = { stop: [], outputTool: undefined }

/** Which names of tools, or ids of calls, a target accepts. */
export interface NameRule {
  pattern: RegExp
  maxLength: number
}

/** Which names of tools and their arguments a target accepts. */
export interface ToolNameRule extends NameRule {
  /** What the names of a function's arguments have to be like; undefined: they may be any. */
  argument?: RegExp
  /** What a tool of the vendor's server is called, as no other may be; undefined: nothing. */
  hosted?: (tool: HostedTool) => string | undefined
}

/** What a decoder needs to know that the upstream's answer does not say. */
export interface DecodeContext {
  /** The vendor of the upstream, put on the signatures it made. */
  vendor: string
  /** Makes ids for calls that the upstream gave none. Deterministic in tests. */
  newId: () => string
  /** Ids that calls of the conversation have, and none of the answer's may have; left out: none. */
  takenIds?: readonly string[] | undefined
  /** How many answers were asked for; left out: it is not known. */
  answers?: number
  /**
   * True where the answer passes and the decoder listens on the side: it is not shown every event, so that it does not
   * know what the answer says in full.
   */
  isPassed?: boolean
}

/** What all candidates of a streamed answer share. */
export interface AnswerScope extends Pick<DecodeContext, 'vendor' | 'newId' | 'takenIds'> {
  nextBlock: () => number
}

/** Everything a reply says that is not in the answer itself. */
export interface ReplyContext {
  /** The gateway's request id (UUID); reply ids are built from it (`chatcmpl-…`, `resp_…`, `msg_…`). */
  requestId: string
  /** Seconds since 1970. */
  createdAt: number
  /** The model as the caller named it. */
  model: string
  /** What the caller asked to see. */
  request: Pick<GenerationRequest, 'reasoning'>
  /** The caller's body without the conversation, for the fields that are echoed word for word (Responses). */
  wire: JsonObject
  /** Local estimate of the prompt's tokens, for formats that name it in their first event. */
  estimatedInputTokens: number | undefined
}

/** An upstream's complaint, before anyone decided whose fault it is (upstream/outcome.ts does). */
export interface UpstreamFault {
  /** The status it names itself, where it comes inside a 200; else the response's. */
  status: number
  /** The vendor's text without markup, keys or addresses; never empty. */
  message: string
  /** The vendor's machine-readable code or type. */
  code: string | undefined
  param: string | undefined
  /** Retry delay that the body names (Gemini's RetryInfo), in ms. */
  retryAfterMs: number | undefined
  /** True when the prompt is longer than the model's context. */
  contextLength: boolean
  /** True when the upstream cannot read the reasoning of earlier turns, which somebody else made, or takes none back. */
  foreignReasoning: boolean
  /** What of Anthropic's `error.details` its SDK acts on: `error_code` and `unsupported` (message threads). */
  details: JsonObject | undefined
}

/** The three pieces of a count call; its request is decoded like any other. */
export interface TokenCountCodec {
  /** The body of a count call for this request. */
  encodeRequest(request: GenerationRequest, target: Target): JsonObject
  /** The count in an upstream's answer; undefined when it is not there. */
  decodeResponse(body: JsonObject): number | undefined
  /** The answer to a caller. */
  encodeResponse(tokens: number): JsonObject
}
