import { invalidRequest } from '@/formats/invalid.ts'
import { locateMedia, parseDataUri } from '@/formats/media/data-uri.ts'
import { mediaTypeOf, mediaTypeOfFile, mediaTypeOfName } from '@/formats/media/media-type.ts'
import {
  type CacheMark,
  IMAGE_DETAILS,
  type MediaPart,
  mediaPart,
  type OpaquePart,
  type Part,
  type TextPart,
  type ToolResultPart,
  textPart,
} from '@/generation/part.ts'
import {
  asArray,
  asNonEmpty,
  asObject,
  asString,
  asWord,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import { FORMAT } from './wire.ts'

/** Reads a message's content: text, parts or nothing. @param path where it stands, for complaints. */
export function decodeContent(content: JsonValue | undefined, path: string): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [textPart(content)]
  return asArray(content).map((part, index) => decodePart(asObject(part) ?? {}, `${path}[${index}]`))
}

/** The text parts of a content, for messages that may hold nothing else. */
export function decodeTexts(content: JsonValue | undefined, path: string): TextPart[] {
  return decodeContent(content, path).map(part => {
    if (part.type !== 'text') throw invalidRequest(path, 'may hold text only')
    return part
  })
}

/** A result's content: text by the documents, media at vendors that take more. */
export function decodeResult(content: JsonValue | undefined, path: string): ToolResultPart['content'] {
  return decodeContent(content, path).map(part => {
    if (part.type === 'text' || part.type === 'media') return part
    return textPart(JSON.stringify(part.type === 'opaque' ? part.value : part))
  })
}

function decodePart(part: JsonObject, path: string): Part {
  switch (part['type']) {
    case 'text':
    case 'input_text':
    case 'output_text':
      if (typeof part['text'] !== 'string') throw invalidRequest(`${path}.text`, 'required')
      return { ...textPart(part['text']), cache: cacheMark(part) }
    case 'refusal':
      return { type: 'refusal', text: asString(part['refusal']) ?? '' }
    case 'image_url': {
      const image = imagePart(part)
      if (image === undefined) throw invalidRequest(`${path}.image_url`, 'required')
      // LiteLLM takes documents so: https://github.com/BerriAI/litellm/pull/39977
      const kind = image.mediaType === 'application/pdf' ? 'document' : image.kind
      return { ...image, kind, cache: cacheMark(part) }
    }
    case 'input_audio':
      return decodeAudio(part, path)
    case 'file':
      return decodeFile(part, path)
    case 'document_url':
      return decodeDocumentUrl(part, path)
    case 'file_url':
      return decodeFileUrl(part, path)
    case 'video_url':
      return decodeVideo(part, path)
    default:
      return opaquePart(asString(part['type']) ?? 'unknown', part)
  }
}

/** A part that only this format, or a vendor of it, knows. */
export function opaquePart(name: string, value: JsonValue): OpaquePart {
  return { type: 'opaque', format: FORMAT, name, value }
}

/** An `image_url` part, whose address may stand bare or in an object. Undefined when it has none. */
export function imagePart(part: JsonObject | undefined): MediaPart | undefined {
  const holder = asObject(part?.['image_url'])
  const url = asString(holder?.['url'] ?? part?.['image_url'])
  if (url === undefined) return undefined
  const detail = asWord(IMAGE_DETAILS, holder?.['detail'])
  return mediaPart({ kind: 'image', ...locateMedia(url), detail })
}

/** An object at OpenAI; at Mistral the data or the address alone, which then has to say what it is. */
function decodeAudio(part: JsonObject, path: string): MediaPart {
  const audio = asObject(part['input_audio'])
  const bare = asString(part['input_audio'])
  const data = bare ?? asString(audio?.['data'])
  if (data === undefined) throw invalidRequest(`${path}.input_audio`, 'required')
  const { mediaType, source } = locateMedia(data)
  const isBase64 = source.type === 'url' && !isAddress(data)
  const format = asNonEmpty(audio?.['format'])
  const shown = isBase64 ? typeOfSound(data, bare === undefined ? 'audio/wav' : MP3) : typeOfSoundAt(data)
  return mediaPart({
    kind: 'audio',
    mediaType: mediaType ?? (format === undefined ? shown : format === 'mp3' ? MP3 : `audio/${format}`),
    source: isBase64 ? { type: 'base64', data } : source,
    cache: cacheMark(part),
  })
}

function isAddress(text: string): boolean {
  return /^https?:\/\//i.test(text)
}

const MP3 = 'audio/mpeg'

function typeOfSound(base64: string, otherwise: string): string {
  const type = mediaTypeOf(undefined, base64)
  return type?.startsWith('audio/') ? type : otherwise
}

function typeOfSoundAt(url: string): string {
  const type = mediaTypeOfName(url)
  return type?.startsWith('audio/') ? type : MP3
}

/** Mistral's. */
function decodeDocumentUrl(part: JsonObject, path: string): MediaPart {
  const url = asNonEmpty(part['document_url'])
  if (url === undefined) throw invalidRequest(`${path}.document_url`, 'required')
  const filename = asString(part['document_name'])
  return mediaPart({ kind: 'document', ...locateFile(url, filename), filename, cache: cacheMark(part) })
}

/** Perplexity's. */
function decodeFileUrl(part: JsonObject, path: string): MediaPart {
  const url = asNonEmpty(asObject(part['file_url'])?.['url'])
  if (url === undefined) throw invalidRequest(`${path}.file_url.url`, 'required')
  const filename = asString(part['file_name'])
  return mediaPart({ kind: 'document', ...locateFile(url, filename), filename, cache: cacheMark(part) })
}

function decodeFile(part: JsonObject, path: string): MediaPart {
  const file = asObject(part['file'])
  const id = asNonEmpty(file?.['file_id'])
  const data = asNonEmpty(file?.['file_data'])
  if (id === undefined && data === undefined) throw invalidRequest(`${path}.file`, 'has neither data nor id')
  const filename = asString(file?.['filename'])
  const located = data === undefined ? storedFile(id ?? '') : locateFile(data, filename)
  return mediaPart({ kind: 'document', ...located, filename, cache: cacheMark(part) })
}

function storedFile(id: string): Pick<MediaPart, 'source'> {
  return { source: { type: 'file-id', id, format: FORMAT } }
}

/** The API also takes the bytes without the data URI around them. */
function locateFile(data: string, filename: string | undefined): Pick<MediaPart, 'mediaType' | 'source'> {
  if (isAddress(data)) return locateMedia(data)
  const { mediaType, base64 } = parseDataUri(data) ?? { mediaType: undefined, base64: data }
  return { mediaType: mediaTypeOfFile(mediaType, base64, filename), source: { type: 'base64', data: base64 } }
}

function decodeVideo(part: JsonObject, path: string): MediaPart {
  const url = asString(asObject(part['video_url'])?.['url'] ?? part['video_url'])
  if (url === undefined) throw invalidRequest(`${path}.video_url`, 'required')
  return mediaPart({ kind: 'video', ...locateMedia(url), cache: cacheMark(part) })
}

/** OpenAI's `prompt_cache_breakpoint`, or the `cache_control` of OpenRouter and others, on a part, a tool or a message. */
export function cacheMark(holder: JsonObject): CacheMark | undefined {
  const mark = asObject(holder['prompt_cache_breakpoint']) ?? asObject(holder['cache_control'])
  if (mark === undefined) return undefined
  const ttl = mark['ttl']
  if (ttl === '1h' || ttl === '12h') return { ttl: '1h' }
  return { ttl: ttl === '5m' || ttl === '30m' ? '5m' : undefined }
}
