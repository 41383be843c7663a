import type { Clock } from '@/clock/clock.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { MediaPart } from '@/generation/part.ts'
import { decompressInSteps, encodingsIn, isEncoding } from '@/net/content-encoding.ts'
import { type AddressGuard, orAborted, PrivateAddress } from './address-guard.ts'
import { followRedirects } from './redirects.ts'

/** What a caller says stands at an address. */
export interface MediaRequest {
  /** As the caller gave it. */
  url: string
  kind: MediaPart['kind']
  /** What the caller or the address says it is; believed where the server says nothing. */
  mediaType: string | undefined
  /** Most bytes that it may have. */
  maxBytes: number
  /** Told how many bytes of it will be in memory, before they are. What it throws ends the fetch. */
  onBytes: (bytes: number) => void
  signal: AbortSignal
}

/** What stood at an address. */
interface FetchedMedia {
  mediaType: string
  bytes: Uint8Array
}

/**
 * Fetches what stands at a caller's address.
 * @throws GatewayError `invalid_request` that says what is wrong with the address or what is there
 */
export type MediaFetch = (request: MediaRequest) => Promise<FetchedMedia>

/** From the start to the last byte, redirects included. */
export const MEDIA_MS = 10_000
const MAX_REDIRECTS = 3

/**
 * Media by address, fetched from here: a request that callers make us send. Only http and https, only to public
 * addresses (each redirect is looked at like the first), without anything of the caller's or the operator's in it.
 */
export function createMediaFetch({ clock, guard }: { clock: Clock; guard: AddressGuard }): MediaFetch {
  return async request => {
    const stop = new AbortController()
    const stopTimer = clock.after(MEDIA_MS, () =>
      stop.abort(wrong(`did not come within ${MEDIA_MS / 1000} s`)),
    )
    const signal = AbortSignal.any([stop.signal, request.signal])
    try {
      const response = await get(guard, request.url, signal)
      const mediaType = typeOf(response, request)
      return { mediaType, bytes: await readLimited(response, request) }
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof GatewayError) throw error
      // Nothing of where a name leads is told: that would be a way to look around inside.
      throw wrong('could not be fetched', error)
    } finally {
      stopTimer()
      stop.abort()
    }
  }
}

async function get(guard: AddressGuard, address: string, signal: AbortSignal): Promise<Response> {
  const hop = (url: string) => getOnce(guard, publicUrl(url), signal)
  const rules = { most: MAX_REDIRECTS, fetch: hop, lost: wrong }
  const response = await followRedirects(await hop(address), address, rules)
  if (response.ok) return response
  await response.body?.cancel()
  throw wrong(`answers with status ${response.status}`)
}

async function getOnce(guard: AddressGuard, url: string, signal: AbortSignal): Promise<Response> {
  const dial = await orAborted(guard.dialPublic(url), signal)
  return await fetch(dial.url, {
    headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'tollgate', ...dial.headers },
    redirect: 'manual',
    signal,
    ...(dial.tls === undefined ? {} : { tls: dial.tls }),
    // Bun would unpack a read whole, of which a caller's server makes a thousand times its bytes.
    ...{ decompress: false },
  })
}

function publicUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') throw wrong('is no http or https address')
  if (url.username !== '' || url.password !== '') throw wrong('holds a user or a password')
  return url.href
}

/** Media types by kind; what a server sends where it found no such media (a page that says so) is none of them. */
const TYPES: Record<MediaPart['kind'], RegExp> = {
  image: /^image\//,
  document: /^(?:application\/(?:pdf|json|xml|yaml|rtf|msword|vnd\.)|text\/(?!html))/,
  audio: /^audio\//,
  video: /^video\//,
}

/** What servers say of a file whose type they do not know; the last is S3's. */
const UNTOLD: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'binary/octet-stream'])

function typeOf(response: Response, { kind, mediaType }: MediaRequest): string {
  const told = plainType(response.headers.get('content-type') ?? '')
  const type = UNTOLD.has(told) ? plainType(mediaType ?? '') : told
  if (TYPES[kind].test(type)) return type
  throw wrong(
    type === '' ? `is of no known type and not ${kind}` : `is ${type.slice(0, 100)} and not ${kind}`,
  )
}

function plainType(text: string): string {
  return (text.split(';')[0] ?? '').trim().toLowerCase()
}

async function readLimited(
  response: Response,
  { maxBytes, onBytes }: Pick<MediaRequest, 'maxBytes' | 'onBytes'>,
): Promise<Uint8Array> {
  const declared = Number(response.headers.get('content-length')) || 0
  if (declared > maxBytes) throw tooLarge(maxBytes)
  const encodings = encodingsIn(response.headers.get('content-encoding'))
  let expected = declared
  onBytes(expected)
  const chunks: Uint8Array[] = []
  let total = 0
  for await (const chunk of response.body ?? []) {
    total += chunk.length
    if (total > maxBytes) throw tooLarge(maxBytes)
    if (total > expected) {
      expected = Math.min(2 * total, maxBytes)
      onBytes(expected)
    }
    chunks.push(chunk)
  }
  if (total === 0) throw wrong('is empty')
  return decoded(Buffer.concat(chunks, total), encodings, { maxBytes, onBytes })
}

/** Some servers keep files packed, and send them so whatever they are asked for. */
async function decoded(
  bytes: Uint8Array,
  [encoding, ...others]: string[],
  { maxBytes, onBytes }: Pick<MediaRequest, 'maxBytes' | 'onBytes'>,
): Promise<Uint8Array> {
  if (encoding === undefined) return bytes
  if (others.length > 0 || !isEncoding(encoding)) throw wrong('is encoded in an unknown way')
  const plain = await decompressInSteps(bytes, encoding, maxBytes, onBytes)
  if (plain === undefined) throw tooLarge(maxBytes)
  return plain
}

function tooLarge(maxBytes: number): GatewayError {
  return wrong(`is larger than the ${maxBytes} bytes that are left for media of this request`)
}

function wrong(what: string, cause?: unknown): GatewayError {
  return new GatewayError('invalid_request', `Media at an address of this request: it ${what}`, {
    detail: cause instanceof PrivateAddress ? cause.message : String(cause ?? what),
    cause,
  })
}
