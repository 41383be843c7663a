import { noteSent } from '@/telemetry/sent-credentials.ts'
import type { Dial } from './address-guard.ts'
import { type Channel, type ChannelKey, SIMULATOR } from './channel.ts'
import { keyHeaders } from './endpoint.ts'
import type { UpstreamRequest } from './request.ts'

/** Of the operator's own headers, those that may hold a secret; `Bearer` and the like are none of it. */
const CREDENTIAL_HEADER = /auth|key|token|secret|cookie|passw/i

/** What every upstream learns about us. */
const USER_AGENT = 'tollgate'

/** Headers that were made, and what they were made of beside the channel. */
interface Made {
  key: ChannelKey | undefined
  stream: boolean
  hasBody: boolean
  given: Readonly<Record<string, string>>
  headers: Headers
}

/** The built-in simulator wants a key, as vendors do, and takes any: its channel need not have one. */
const SIMULATOR_KEY = { id: 0, secret: 'any' } satisfies ChannelKey

const NOTHING: Readonly<Record<string, string>> = Object.freeze({})

/**
 * The headers of attempts. Those of a `request.headers` that is empty or frozen are made once, and known again by that
 * very object: nearly all attempts on a channel with a key have the same ones. They are never changed afterwards.
 */
export class AttemptHeaders {
  readonly #made = new WeakMap<Channel, Made[]>()

  /** For a request as it is dialled. */
  of(request: UpstreamRequest, dial: Dial): Headers {
    const headers = this.#of(request)
    const dialled = Object.entries(dial.headers)
    if (dialled.length === 0) return headers
    const more = new Headers(headers)
    for (const [name, value] of dialled) more.set(name, value)
    return more
  }

  #of(request: UpstreamRequest): Headers {
    const { channel, key, call, body } = request
    // A body that is opened anew for each attempt has a length of its own.
    if (body !== undefined && !(body instanceof Uint8Array)) return new Headers(attemptHeaders(request))
    const hasBody = body !== undefined
    const given = isEmpty(request.headers) ? NOTHING : request.headers
    const known = this.#made.get(channel) ?? []
    for (const one of known) {
      const isIt = one.given === given && one.key === key && one.stream === call.stream
      if (isIt && one.hasBody === hasBody) return one.headers
    }
    const headers = new Headers(attemptHeaders(request))
    if (Object.isFrozen(given)) {
      this.#made.set(channel, [...known, { key, stream: call.stream, hasBody, given, headers }])
    }
    return headers
  }
}

function isEmpty(headers: Readonly<Record<string, string>>): boolean {
  for (const _ in headers) return false
  return true
}

/** What is sent beside the body; where two say the same, the operator's word for the channel is the last. */
export function attemptHeaders(request: UpstreamRequest): Record<string, string> {
  const { channel } = request
  const key = request.key ?? (channel.baseUrl === SIMULATOR ? SIMULATOR_KEY : undefined)
  if (key !== undefined) noteSent(key.secret)
  const own: Record<string, string> = {}
  for (const [name, value] of Object.entries(channel.headers)) {
    if (CREDENTIAL_HEADER.test(name)) noteSent(value.replace(/^\w+ +/, ''))
    // In the spelling of those above: of a header in two spellings both values would be sent.
    own[name.toLowerCase()] = value
  }
  return {
    ...contentHeaders(request.body),
    accept: request.call.stream ? 'text/event-stream' : 'application/json',
    'accept-encoding': 'identity',
    'user-agent': USER_AGENT,
    ...request.headers,
    ...(key === undefined ? {} : keyHeaders(channel.format, key.secret)),
    ...own,
  }
}

/** Upstreams that take no chunked body are told the length, which a stream does not know by itself. */
function contentHeaders(body: UpstreamRequest['body']): Record<string, string> {
  if (body === undefined) return {}
  return {
    'content-type': 'application/json',
    ...(body instanceof Uint8Array ? {} : { 'content-length': String(body.length) }),
  }
}
