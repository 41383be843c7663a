import { parseDataUri } from '@/formats/media/data-uri.ts'
import type { MediaPart } from '@/generation/part.ts'
import { asObject, asString, type JsonObject } from '@/json/json.ts'

/** An `image_url` part, whose address may stand bare or in an object. Undefined when it has none. */
export function imagePart(part: JsonObject | undefined): MediaPart | undefined {
  const holder = asObject(part?.['image_url'])
  const url = asString(holder?.['url'] ?? part?.['image_url'])
  if (url === undefined) return undefined
  return { ...mediaPart('image'), ...locateMedia(url), detail: detailOf(holder) }
}

/** A media part with nothing said about it; the bytes are an empty placeholder to be replaced. */
export function mediaPart(kind: MediaPart['kind']): MediaPart {
  return {
    type: 'media',
    kind,
    mediaType: undefined,
    source: { type: 'base64', data: '' },
    filename: undefined,
    title: undefined,
    context: undefined,
    citable: false,
    signature: undefined,
    detail: undefined,
    cache: undefined,
  }
}

/** What a URL of a media part stands for: bytes in a data URI, else an address. */
export function locateMedia(url: string): Pick<MediaPart, 'mediaType' | 'source'> {
  const inline = parseDataUri(url)
  return inline === undefined
    ? { mediaType: undefined, source: { type: 'url', url } }
    : { mediaType: inline.mediaType, source: { type: 'base64', data: inline.base64 } }
}

const DETAILS = ['auto', 'low', 'high', 'original'] as const

function detailOf(holder: JsonObject | undefined): MediaPart['detail'] {
  return DETAILS.find(detail => detail === holder?.['detail'])
}
