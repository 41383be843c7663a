import { GatewayError } from '@/errors/gateway-error.ts'
import { GrowingRoom } from '@/exchange/admission/body-arrival.ts'
import type { Prompt } from '@/exchange/admission/prompt.ts'
import { targetOf } from '@/exchange/admission/target.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import type { Interruption } from '@/exchange/interruption.ts'
import { callerOf, type ExchangeRecord } from '@/exchange/record.ts'
import { mediaTypeOfName } from '@/formats/media/media-type.ts'
import { type Fetched, type FetchedByUrl, mediaToFetch } from '@/formats/media/media-urls.ts'
import { CODECS } from '@/formats/registry.ts'
import type { MediaPart } from '@/generation/part.ts'
import type { Model, Route } from '@/routing/model.ts'
import { isPassthrough } from './passthrough-request.ts'

/** Media that one request may have fetched, and their bytes in all. */
const MAX_MEDIA = 20
const MAX_MEDIA_BYTES = 50 * 1024 * 1024

/** Media take the memory of so many bodies of their size: as they came, as base64, and in the request as text and as bytes. */
const BODIES = 2

/** Whose media are fetched. */
interface MediaOptions {
  gateway: Pick<Gateway, 'fetchMedia' | 'bodyRoom'>
  record: ExchangeRecord
  prompt: Prompt
  model: Model
  interruption: Interruption
}

/**
 * Fetches what a route's format cannot take by address; whatever it can take is passed on as it is. What was fetched for
 * one route is there for the next.
 * @throws GatewayError `invalid_request` for what cannot be fetched, `overloaded` where there is no memory for it
 */
export function mediaOf({
  gateway: { fetchMedia, bodyRoom },
  record,
  prompt,
  model,
  interruption,
}: MediaOptions): (route: Route) => Promise<FetchedByUrl | undefined> {
  const terms = { account: callerOf(record).accountId, bodyRoom }
  let bytesLeft = MAX_MEDIA_BYTES

  async function fetchOne(url: string, part: MediaPart, onBytes: (bytes: number) => void): Promise<Fetched> {
    const { kind, mediaType = mediaTypeOfName(url) } = part
    const fetching = new AbortController()
    const giveUp = (reason: GatewayError) => fetching.abort(reason)
    interruption.listen(giveUp)
    const { signal } = fetching
    const media = await fetchMedia({ url, kind, mediaType, maxBytes: bytesLeft, onBytes, signal }).finally(
      () => interruption.unlisten(giveUp),
    )
    bytesLeft -= media.bytes.length
    return { mediaType: media.mediaType, base64: Buffer.from(media.bytes).toString('base64') }
  }

  return async route => {
    if (isPassthrough(prompt, route)) return undefined
    const wanted = mediaToFetch(prompt.generation(), CODECS[route.channel.format], targetOf(model, route))
    if (wanted.size > MAX_MEDIA) {
      throw new GatewayError('invalid_request', `No more than ${MAX_MEDIA} media by address are fetched`)
    }
    prompt.media ??= new Map()
    const fetched = prompt.media
    const room = new GrowingRoom(terms)
    const leftBefore = bytesLeft
    const grow = (bytes: number) => room.growTo(BODIES * (leftBefore - bytesLeft + bytes))
    try {
      // One after the other, so that what is left for the next is known.
      for (const [url, part] of wanted) {
        if (!fetched.has(url)) fetched.set(url, await fetchOne(url, part, grow))
      }
    } finally {
      room.giveBack()
    }
    return new Map([...fetched].filter(([url]) => wanted.has(url)))
  }
}
