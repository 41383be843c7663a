import type { MediaPart } from '@/generation/part.ts'
import { standardBase64 } from './base64.ts'

/** What a data URI holds. */
interface DataUri {
  mediaType: string
  /** In the plain alphabet, without white space. */
  base64: string
}

/**
 * Reads a data URI in every spelling: parameters of the media type, text that is percent-encoded and not base64, white
 * space and the URL-safe alphabet in the payload. Undefined for any other text.
 */
export function parseDataUri(uri: string): DataUri | undefined {
  if (uri.slice(0, 5).toLowerCase() !== 'data:') return undefined
  const comma = uri.indexOf(',')
  if (comma === -1) return undefined
  const [mediaType = '', ...parameters] = uri.slice(5, comma).split(';')
  const payload = uri.slice(comma + 1)
  const isBase64 = parameters.some(parameter => parameter.trim().toLowerCase() === 'base64')
  return {
    mediaType: mediaType.trim().toLowerCase() || 'text/plain',
    base64: isBase64
      ? plainBase64(payload)
      : Buffer.from(unescapePercent(payload), 'utf8').toString('base64'),
  }
}

/** What an address of media stands for: the bytes in a data URI, else itself. */
export function locateMedia(url: string): Pick<MediaPart, 'mediaType' | 'source'> {
  const inline = parseDataUri(url)
  return inline === undefined
    ? { mediaType: undefined, source: { type: 'url', url } }
    : { mediaType: inline.mediaType, source: { type: 'base64', data: inline.base64 } }
}

/** Bytes as a data URI. */
export function dataUri(mediaType: string, base64: string): string {
  return `data:${mediaType};base64,${base64}`
}

function plainBase64(payload: string): string {
  // Images are large and nearly always plain already: look before copying.
  if (/^[A-Za-z0-9+/=]*$/.test(payload)) return payload
  return standardBase64(unescapePercent(payload).replace(/\s+/g, ''))
}

function unescapePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
