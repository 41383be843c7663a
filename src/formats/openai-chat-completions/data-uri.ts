import type { MediaSource } from '@/generation/part.ts'

/** What a URL of a media part stands for: bytes in a data URI, else an address. */
export interface LocatedMedia {
  mediaType: string | undefined
  source: MediaSource
}

/**
 * Reads a URL as it stands in `image_url`. Of data URIs every spelling is taken: parameters of the media type, text
 * that is percent-encoded and not base64, white space and the URL-safe alphabet in the payload.
 */
export function locateMedia(url: string): LocatedMedia {
  const comma = url.indexOf(',')
  if (!/^data:/i.test(url) || comma === -1) return { mediaType: undefined, source: { type: 'url', url } }
  const [mediaType = '', ...parameters] = url.slice(5, comma).split(';')
  const payload = url.slice(comma + 1)
  const isBase64 = parameters.some(parameter => parameter.trim().toLowerCase() === 'base64')
  return {
    mediaType: mediaType.trim().toLowerCase() || 'text/plain',
    source: { type: 'base64', data: isBase64 ? plainBase64(payload) : encodeText(payload) },
  }
}

function plainBase64(payload: string): string {
  if (/^[A-Za-z0-9+/]*={0,2}$/.test(payload)) return payload
  return unescapePercent(payload).replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/')
}

function encodeText(payload: string): string {
  return Buffer.from(unescapePercent(payload), 'utf8').toString('base64')
}

function unescapePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Bytes as a data URI. */
export function dataUri(mediaType: string, data: string): string {
  return `data:${mediaType};base64,${data}`
}
