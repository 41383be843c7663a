import { locateMedia, parseDataUri } from '@/formats/media/data-uri.ts'
import { mediaTypeOfFile } from '@/formats/media/media-type.ts'
import { phaseSignature } from '@/formats/signatures/phase.ts'
import {
  type CacheMark,
  type Citation,
  IMAGE_DETAILS,
  type MediaPart,
  mediaPart,
  type RefusalPart,
  type TextPart,
} from '@/generation/part.ts'
import {
  asArray,
  asNumber,
  asObject,
  asString,
  asWord,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import { FORMAT } from './wire.ts'

/**
 * A content part of a message or of a tool's output.
 * @returns undefined for a type this codec does not know, and for a part without its payload.
 */
export function decodeContent(
  part: JsonObject,
  phase: JsonValue | undefined,
): TextPart | RefusalPart | MediaPart | undefined {
  if (isText(part)) {
    return {
      type: 'text',
      text: asString(part['text']) ?? '',
      cache: decodeCacheMark(part),
      citations: asArray(part['annotations']).flatMap(decodeAnnotation),
      signature: phaseSignature(phase),
    }
  }
  switch (part['type']) {
    case 'refusal':
      return { type: 'refusal', text: asString(part['refusal']) ?? '' }
    case 'input_image':
    case 'computer_screenshot':
      return decodeImage(part)
    case 'input_file':
      return decodeFile(part)
    case 'input_audio':
      return decodeAudio(part)
    default:
      return undefined
  }
}

const TEXTS: ReadonlySet<unknown> = new Set([
  'input_text',
  'output_text',
  'text',
  'summary_text',
  'reasoning_text',
])

/** Whether a content part is text, under any of the names that it has. */
export function isText(part: JsonObject): boolean {
  return TEXTS.has(part['type'])
}

/** An annotation as a citation; its own words go back to a caller of the same format. */
export function decodeAnnotation(value: JsonValue): Citation[] {
  const annotation = asObject(value)
  if (annotation === undefined) return []
  return [
    {
      url: asString(annotation['url']),
      title: asString(annotation['title']) ?? asString(annotation['filename']),
      citedText: undefined,
      start: asNumber(annotation['start_index']),
      end: asNumber(annotation['end_index']),
      wire: { format: FORMAT, value: annotation },
    },
  ]
}

/**
 * A citation as an annotation. Without its own words only one with a URL can be said.
 * @param length of the text so far, in UTF-16 units: what a citation without a span is about.
 */
export function encodeAnnotation(citation: Citation, length: number): JsonObject | undefined {
  if (citation.wire?.format === FORMAT) return citation.wire.value
  if (citation.url === undefined) return undefined
  return {
    type: 'url_citation',
    url: citation.url,
    title: citation.title ?? citation.url,
    start_index: citation.start ?? 0,
    end_index: citation.end ?? length,
  }
}

/** `prompt_cache_breakpoint`: the short lifetime is 30 minutes here, the long one 12 hours. */
function decodeCacheMark(part: JsonObject): CacheMark | undefined {
  const mark = asObject(part['prompt_cache_breakpoint'])
  if (mark === undefined) return undefined
  const ttl = mark['ttl']
  return { ttl: ttl === '30m' ? '5m' : ttl === '12h' ? '1h' : undefined }
}

function decodeImage(part: JsonObject): MediaPart | undefined {
  const located = addressed(part['image_url']) ?? storedFile(part)
  const detail = asWord(IMAGE_DETAILS, part['detail'])
  return located && mediaPart({ kind: 'image', ...located, detail, cache: decodeCacheMark(part) })
}

function decodeFile(part: JsonObject): MediaPart | undefined {
  const located = inlined(part) ?? addressed(part['file_url']) ?? storedFile(part)
  const filename = asString(part['filename'])
  return located && mediaPart({ kind: 'document', ...located, filename, cache: decodeCacheMark(part) })
}

function decodeAudio(part: JsonObject): MediaPart | undefined {
  const audio = asObject(part['input_audio'])
  const data = asString(audio?.['data'])
  if (data === undefined) return undefined
  const mediaType = `audio/${asString(audio?.['format']) ?? 'wav'}`
  return mediaPart({ kind: 'audio', mediaType, source: { type: 'base64', data } })
}

/** Where the bytes of a part are, in the ways that the API has for it. */
type Located = Pick<MediaPart, 'mediaType' | 'source'>

function inlined({ file_data: data, filename }: JsonObject): Located | undefined {
  if (typeof data !== 'string' || data === '') return undefined
  const { mediaType, base64 } = parseDataUri(data) ?? { mediaType: undefined, base64: data }
  const type = mediaTypeOfFile(mediaType, base64, asString(filename))
  return { mediaType: type, source: { type: 'base64', data: base64 } }
}

function addressed(url: JsonValue | undefined): Located | undefined {
  return typeof url === 'string' && url !== '' ? locateMedia(url) : undefined
}

function storedFile({ file_id: id }: JsonObject): Located | undefined {
  if (typeof id !== 'string' || id === '') return undefined
  return { mediaType: undefined, source: { type: 'file-id', id, format: FORMAT } }
}
