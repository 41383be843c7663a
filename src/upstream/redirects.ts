import { GatewayError } from '@/errors/gateway-error.ts'
import type { AddressGuard, Dial } from './address-guard.ts'
import type { Channel } from './channel.ts'

/** More than any vendor's downloads lead through. */
const MAX_REDIRECTS = 5

/** Headers that say what is wanted, and nothing about who wants it. */
const PASSED = ['accept', 'accept-encoding', 'range', 'if-range', 'user-agent']

/** The call whose answer is a redirect. */
export interface RedirectOptions {
  channel: Channel
  guard: AddressGuard
  /** Where the first answer came from. */
  url: string
  /** What was sent there; the key is among them. */
  headers: Readonly<Record<string, string>>
  signal: AbortSignal
}

/**
 * The answer at the end of an upstream's redirects, for downloads. Only to the very origin of the channel are its key and
 * headers sent again; any other host must be public and learns nothing.
 * @throws GatewayError; what a fetch and a lookup throw
 */
export async function followRedirects(first: Response, options: RedirectOptions): Promise<Response> {
  let response = first
  let { url } = options
  for (let hops = 0; isRedirect(response); hops += 1) {
    const location = response.headers.get('location')
    await response.body?.cancel()
    if (location === null || hops === MAX_REDIRECTS) throw lost('leads nowhere')
    url = httpUrl(location, url)
    response = await fetchAgain(url, options)
  }
  return response
}

function isRedirect({ status }: Response): boolean {
  return [301, 302, 303, 307, 308].includes(status)
}

async function fetchAgain(url: string, options: RedirectOptions): Promise<Response> {
  const { channel, guard, headers, signal } = options
  const isOwn = new URL(url).origin === new URL(options.url).origin
  const dial = isOwn ? await guard.dial(channel, url) : await guard.dialPublic(url)
  const sent = isOwn ? headers : withoutSecrets(headers)
  return await fetch(dial.url, { ...initOf(dial), headers: { ...sent, ...dial.headers }, signal })
}

function initOf(dial: Dial): RequestInit {
  return {
    redirect: 'manual',
    // Bun's name for "no limit of its own"; not in the DOM's RequestInit.
    ...{ timeout: false },
    ...(dial.tls === undefined ? {} : { tls: dial.tls }),
  }
}

function withoutSecrets(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => PASSED.includes(name.toLowerCase())))
}

/** What was fetched over TLS is not fetched on without. */
function httpUrl(location: string, base: string): string {
  const url = URL.canParse(location, base) ? new URL(location, base) : undefined
  const isFine =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && new URL(base).protocol === 'http:')
  if (url === undefined || !isFine) throw lost('leads to what is no address')
  return url.href
}

function lost(how: string): GatewayError {
  return new GatewayError('upstream_error', `The upstream's redirect ${how}`)
}
