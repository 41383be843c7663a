import { invalidRequest, unsupported } from '@/formats/invalid.ts'
import { dataUri, parseDataUri } from '@/formats/media/data-uri.ts'
import type {
  VideoFault,
  VideoFrame,
  VideoImage,
  VideoProgress,
  VideoRequest,
  VideoTerms,
} from '@/generation/video.ts'
import { asNumber, asObject, asString, type JsonObject, type JsonValue, present } from '@/json/json.ts'
import { unknownFields } from './unknown-fields.ts'

/**
 * OpenAI's `/v1/videos`, the same at every upstream with an API like OpenAI's.
 * https://platform.openai.com/docs/api-reference/videos
 */

/** What a film is that says nothing else. */
const DEFAULT_SECONDS = 4
const DEFAULT_FRAME: VideoFrame = { width: 720, height: 1280 }

const KNOWN = new Set(['model', 'prompt', 'seconds', 'size', 'input_reference'])

/**
 * Reads an order. In a form every value is text, and the picture is a file, which the caller of this hands over.
 * @throws GatewayError `invalid_request`
 */
export function decodeVideoRequest(body: JsonObject, file?: VideoImage): VideoRequest {
  const terms = videoTerms(body)
  if (terms.prompt === '') throw invalidRequest('prompt', 'expected a text')
  const size = body['size'] ?? undefined
  if (size !== undefined && readFrame(size) === undefined)
    throw invalidRequest('size', "expected width and height, such as '1280x720'")
  return {
    terms,
    image: file ?? decodeImage(body['input_reference']),
    unread: unknownFields(body, KNOWN),
  }
}

/**
 * What an order comes to. Its length must be known, since that is what it costs.
 * @throws GatewayError `invalid_request`
 */
export function videoTerms(body: JsonObject): VideoTerms {
  const seconds = readSeconds(body['seconds'] ?? DEFAULT_SECONDS)
  if (seconds === undefined) throw invalidRequest('seconds', "expected a whole number above 0, such as '8'")
  return {
    prompt: asString(body['prompt']) ?? '',
    seconds,
    frame: readFrame(body['size']) ?? DEFAULT_FRAME,
    samples: 1,
  }
}

function readSeconds(value: JsonValue): number | undefined {
  const seconds = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : asNumber(value)
  return seconds !== undefined && Number.isInteger(seconds) && seconds > 0 && seconds < 100_000
    ? seconds
    : undefined
}

function readFrame(value: JsonValue | undefined): VideoFrame | undefined {
  const [, width, height] = /^(\d{2,5})x(\d{2,5})$/.exec(asString(value) ?? '') ?? []
  return width === undefined ? undefined : { width: Number(width), height: Number(height) }
}

function decodeImage(value: JsonValue | undefined): VideoImage | undefined {
  if (value === undefined || value === null) return undefined
  const reference = asObject(value) ?? {}
  if (reference['file_id'] !== undefined)
    throw unsupported('input_reference.file_id', 'names a file that only OpenAI has')
  const { image_url: image } = reference
  const url = asString(image) ?? asString(asObject(image)?.['url'])
  if (url === undefined) throw invalidRequest('input_reference', 'expected an object with image_url')
  return parseDataUri(url) ?? { url }
}

/** Writes an order for a model of an upstream, for callers of other formats. */
export function encodeVideoRequest({ terms, image }: VideoRequest, model: string): JsonObject {
  return present({
    model,
    prompt: terms.prompt,
    seconds: String(terms.seconds),
    size: sizeText(terms.frame),
    input_reference: image && { image_url: imageUrl(image) },
  })
}

function imageUrl(image: VideoImage): string {
  return 'url' in image ? image.url : dataUri(image.mediaType, image.base64)
}

function sizeText({ width, height }: VideoFrame): string {
  return `${width}x${height}`
}

/** How a job stands, from an upstream's video object; undefined for what is none. */
export function decodeVideo(json: JsonObject): (VideoProgress & { id: string }) | undefined {
  const id = asString(json['id'])
  const state = STATES[asString(json['status']) ?? '']
  if (id === undefined || id === '' || state === undefined) return undefined
  return {
    id,
    state,
    percent: percentOf(json, state),
    fault: state === 'failed' ? faultOf(json['error']) : undefined,
    seconds: readSeconds(json['seconds'] ?? null),
    files: [],
    keptUntil: asNumber(json['expires_at']),
  }
}

/** Those that other vendors with this API use as well. */
const STATES: Readonly<Record<string, VideoProgress['state']>> = {
  queued: 'queued',
  pending: 'queued',
  in_progress: 'in_progress',
  processing: 'in_progress',
  completed: 'completed',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
  expired: 'failed',
}

function percentOf(json: JsonObject, state: VideoProgress['state']): number {
  if (state === 'completed') return 100
  return Math.min(100, Math.max(0, Math.round(asNumber(json['progress']) ?? 0)))
}

function faultOf(value: JsonValue | undefined): VideoFault {
  const error = asObject(value) ?? {}
  return {
    code: asString(error['code']) ?? 'video_generation_failed',
    message: asString(error['message']) ?? 'The video could not be made',
  }
}

/** A job as a caller sees it. */
export interface VideoView extends Pick<VideoProgress, 'state' | 'percent' | 'fault'> {
  id: string
  model: string
  terms: VideoTerms
  /** In seconds since 1970. */
  createdAt: number
  endedAt: number | undefined
  keptUntil: number | undefined
  remixOf: string | undefined
}

/** A job as OpenAI's video object; `upstream` is what the maker said of it in the same words, whose other fields stay. */
export function encodeVideo(view: VideoView, upstream: JsonObject = {}): JsonObject {
  const { state, fault } = view
  return {
    ...upstream,
    id: view.id,
    object: 'video',
    created_at: view.createdAt,
    status: state,
    completed_at: state === 'completed' ? (view.endedAt ?? null) : null,
    error: fault === undefined ? null : { code: fault.code, message: fault.message },
    expires_at: view.keptUntil ?? null,
    model: view.model,
    progress: view.percent,
    prompt: view.terms.prompt,
    remixed_from_video_id: view.remixOf ?? null,
    seconds: asString(upstream['seconds']) ?? String(view.terms.seconds),
    size: asString(upstream['size']) ?? sizeText(view.terms.frame),
  }
}
