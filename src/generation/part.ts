import type { JsonObject, JsonValue } from '@/json/json.ts'
import type { Format } from './format.ts'

/** A caller's wish that the prompt up to and including this part be cached by the vendor. */
export interface CacheMark {
  /** The lifetime asked for; undefined is the vendor's default. */
  ttl: '5m' | '1h' | undefined
}

/**
 * Reasoning state that only its maker can read: an Anthropic `signature`, an OpenAI `encrypted_content`, a Gemini
 * `thoughtSignature`. Opaque: it is carried byte for byte and given back only to the vendor that made it.
 */
export interface Signature {
  /** The format it came in, and so the field it belongs in. */
  format: Format
  /** Who made it, as `Target.vendor` names it; undefined when the caller sent it untagged in its own format. */
  vendor: string | undefined
  value: string
}

/** Text of the prompt or of the answer. */
export interface TextPart {
  type: 'text'
  text: string
  cache: CacheMark | undefined
  /** Sources the model named for this text; empty for prompts. */
  citations: readonly Citation[]
  /** Gemini puts a thought signature on text too. */
  signature: Signature | undefined
}

/** The model declining in words, where the format tells that apart from text (OpenAI's two). */
export interface RefusalPart {
  type: 'refusal'
  text: string
}

/** Where the bytes of a media part are. */
export type MediaSource =
  | { type: 'base64'; data: string }
  | { type: 'url'; url: string }
  /** Plain text given as a document. */
  | { type: 'text'; text: string }
  /** An id in one vendor's file store; only that vendor can resolve it. */
  | { type: 'file-id'; id: string; format: Format }

/** How closely to look at an image. */
export const IMAGE_DETAILS = ['auto', 'low', 'high', 'original'] as const

/** An image, a document, sound or a film: given with the prompt, returned by a tool, or made by the model. */
export interface MediaPart {
  type: 'media'
  kind: 'image' | 'document' | 'audio' | 'video'
  /** IANA media type (`image/png`); undefined when only a URL or a file id is known. */
  mediaType: string | undefined
  source: MediaSource
  /** File name, as OpenAI's `filename`. */
  filename: string | undefined
  /** A document's title, as Anthropic's `title`. */
  title: string | undefined
  /** A document's accompanying text, as Anthropic's `context`. */
  context: string | undefined
  /** True: the answer shall cite the document, as Anthropic's `citations.enabled`. */
  citable: boolean
  /** Gemini signs images that it makes, and takes none back unsigned. */
  signature: Signature | undefined
  detail: (typeof IMAGE_DETAILS)[number] | undefined
  cache: CacheMark | undefined
}

/** What the model thought, as far as the vendor shows it. */
export interface ReasoningPart {
  type: 'reasoning'
  /** The visible thoughts in their paragraphs (Responses' summary parts; one entry elsewhere). May be empty. */
  texts: readonly string[]
  /** True when the text is raw thought (Responses' `content`), false when it is a summary. */
  raw: boolean
  /** True when the vendor hid the thought (`redacted_thinking`): then only the signature says anything. */
  redacted: boolean
  signature: Signature | undefined
  /** The item's own id (`rs_…`), which Responses wants back unchanged. */
  id: string | undefined
}

/**
 * How a tool is called and by whom. `function` takes JSON arguments, `custom` free text; the others are the tool
 * kinds a *client* executes under a type of its own (their input is the JSON text of the action).
 */
export type ToolCallKind =
  | 'function'
  | 'custom'
  | 'local_shell'
  | 'shell'
  | 'apply_patch'
  | 'tool_search'
  | 'computer'

/** A call that the model made. Whoever runs it answers with a ToolResultPart of the same `callId`. */
export interface ToolCallPart {
  type: 'tool-call'
  kind: ToolCallKind
  /** Links call and result. Whatever the source called it: `tool_call_id`, `call_id`, `tool_use_id`, `id`. */
  callId: string
  name: string
  /** The group that the tool belongs to (Responses' `namespace`). */
  namespace: string | undefined
  /** JSON text for every kind but `custom`, whose input is free text. Never re-serialised on the way. */
  input: string
  signature: Signature | undefined
  cache: CacheMark | undefined
}

/** What a call came to, as the caller reports it in its next turn. */
export interface ToolResultPart {
  type: 'tool-result'
  kind: ToolCallKind
  callId: string
  /** The tool's name where the source says it (Gemini always, the others never). */
  name: string | undefined
  content: readonly (TextPart | MediaPart)[]
  /** True: the call failed, and the content says how. Formats without such a mark say it in words. */
  isError: boolean
  cache: CacheMark | undefined
}

/** A source that a text rests on. */
export interface Citation {
  url: string | undefined
  title: string | undefined
  citedText: string | undefined
  /** Span of the answer's text it supports, in UTF-16 units from the start of its text part. */
  start: number | undefined
  end: number | undefined
  /** The citation as its own format wrote it, for a reply in that same format. */
  wire: { format: Format; value: JsonObject } | undefined
}

/**
 * Something only one format knows (a server tool's call and result, a compaction item). It is given back to that
 * format as it was, and is a declared loss towards any other.
 */
export interface OpaquePart {
  type: 'opaque'
  format: Format
  /** The wire `type` of the item, for reports. */
  name: string
  value: JsonValue
  /** What it looked for, where it is a search of the web. */
  query?: string
}

/** A piece of a turn or of an answer. Each encoder decides about every kind. */
export type Part =
  | TextPart
  | RefusalPart
  | MediaPart
  | ReasoningPart
  | ToolCallPart
  | ToolResultPart
  | OpaquePart

/** A text part with nothing but text. */
export function textPart(text: string): TextPart {
  return { type: 'text', text, cache: undefined, citations: [], signature: undefined }
}

/** A media part of which nothing is known but this. */
export function mediaPart(known: Pick<MediaPart, 'kind' | 'source'> & Partial<MediaPart>): MediaPart {
  return {
    type: 'media',
    mediaType: undefined,
    filename: undefined,
    title: undefined,
    context: undefined,
    citable: false,
    signature: undefined,
    detail: undefined,
    cache: undefined,
    ...known,
  }
}

/** A thought of which nothing is known but this. */
export function reasoningPart(known: Partial<ReasoningPart>): ReasoningPart {
  return {
    type: 'reasoning',
    texts: [],
    raw: false,
    redacted: false,
    signature: undefined,
    id: undefined,
    ...known,
  }
}
