import type { Codec, Target } from '@/formats/codec.ts'
import type { MediaPart, Part } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { parseDataUri } from './data-uri.ts'

/** What stood at an address. */
export interface Fetched {
  mediaType: string
  base64: string
}

/** Media that were fetched, by their address as the caller wrote it. */
export type FetchedByUrl = ReadonlyMap<string, Fetched>

/** Media of a request that an upstream's format cannot be given by address, by address. */
export function mediaToFetch(
  request: GenerationRequest,
  codec: Codec,
  target: Target,
): Map<string, MediaPart> {
  const found = new Map<string, MediaPart>()
  const look = (part: Part) => {
    if (part.type === 'tool-result') for (const inner of part.content) look(inner)
    if (part.type !== 'media' || part.source.type !== 'url') return
    const { url } = part.source
    if (parseDataUri(url) === undefined && !codec.takesUrl(part, url, target)) found.set(url, part)
  }
  for (const turn of request.turns) for (const part of turn.parts) look(part)
  return found
}

/** The request with these media as data. */
export function withMedia(request: GenerationRequest, media: FetchedByUrl | undefined): GenerationRequest {
  if (media === undefined || media.size === 0) return request
  const inline = <P extends Part>(part: P): P | MediaPart => {
    if (part.type !== 'media' || part.source.type !== 'url') return part
    const fetched = media.get(part.source.url)
    if (fetched === undefined) return part
    return { ...part, mediaType: fetched.mediaType, source: { type: 'base64', data: fetched.base64 } }
  }
  return {
    ...request,
    turns: request.turns.map(turn => ({
      ...turn,
      parts: turn.parts.map(part =>
        part.type === 'tool-result' ? { ...part, content: part.content.map(inline) } : inline(part),
      ),
    })),
  }
}
