import { locateMedia } from '@/formats/media/data-uri.ts'
import { IMAGE_DETAILS, type MediaPart, mediaPart } from '@/generation/part.ts'
import { asObject, asString, asWord, type JsonObject } from '@/json/json.ts'

/** An `image_url` part, whose address may stand bare or in an object. Undefined when it has none. */
export function imagePart(part: JsonObject | undefined): MediaPart | undefined {
  const holder = asObject(part?.['image_url'])
  const url = asString(holder?.['url'] ?? part?.['image_url'])
  if (url === undefined) return undefined
  return mediaPart({ kind: 'image', ...locateMedia(url), detail: detailOf(holder) })
}

function detailOf(holder: JsonObject | undefined): MediaPart['detail'] {
  return asWord(IMAGE_DETAILS, holder?.['detail'])
}
