import { GatewayError } from '@/errors/gateway-error.ts'
import type { Prompt } from '@/exchange/admission/prompt.ts'
import { targetOf } from '@/exchange/admission/target.ts'
import type { Interruption } from '@/exchange/interruption.ts'
import { mediaTypeOfName } from '@/formats/media/media-type.ts'
import { type Fetched, type FetchedByUrl, mediaToFetch } from '@/formats/media/media-urls.ts'
import { CODECS } from '@/formats/registry.ts'
import type { MediaPart } from '@/generation/part.ts'
import type { Model, Route } from '@/routing/model.ts'
import type { MediaFetch } from '@/upstream/media.ts'
import { isPassthrough } from './passthrough-request.ts'

/** Media that one request may have fetched, and their bytes in all. */
const MAX_MEDIA = 20
const MAX_MEDIA_BYTES = 50 * 1024 * 1024

/**
 * Fetches what a route's format cannot take by address; whatever it can take is passed on as it is. What was fetched for
 * one route is there for the next.
 * @throws GatewayError `invalid_request` for what cannot be fetched
 */
export function mediaOf(
  fetchMedia: MediaFetch,
  prompt: Prompt,
  model: Model,
  interruption: Interruption,
): (route: Route) => Promise<FetchedByUrl | undefined> {
  const fetched = new Map<string, Fetched>()
  let bytesLeft = MAX_MEDIA_BYTES

  async function fetchOne(url: string, part: MediaPart): Promise<void> {
    const { kind, mediaType = mediaTypeOfName(url) } = part
    const fetching = new AbortController()
    const giveUp = (reason: GatewayError) => fetching.abort(reason)
    interruption.listen(giveUp)
    const { signal } = fetching
    const media = await fetchMedia({ url, kind, mediaType, maxBytes: bytesLeft, signal }).finally(() =>
      interruption.unlisten(giveUp),
    )
    bytesLeft -= media.bytes.length
    fetched.set(url, { mediaType: media.mediaType, base64: Buffer.from(media.bytes).toString('base64') })
  }

  return async route => {
    if (isPassthrough(prompt, route)) return undefined
    const wanted = mediaToFetch(prompt.generation(), CODECS[route.channel.format], targetOf(model, route))
    if (wanted.size > MAX_MEDIA) {
      throw new GatewayError('invalid_request', `No more than ${MAX_MEDIA} media by address are fetched`)
    }
    // One after the other, so that what is left for the next is known.
    for (const [url, part] of wanted) if (!fetched.has(url)) await fetchOne(url, part)
    return new Map([...fetched].filter(([url]) => wanted.has(url)))
  }
}
