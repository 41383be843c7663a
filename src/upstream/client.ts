import type { Clock } from '@/clock/clock.ts'
import { Deadlines } from '@/clock/deadlines.ts'
import { codeOf } from '@/errors/code.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { type AddressGuard, type Dial, orAborted } from './address-guard.ts'
import { AttemptHeaders, attemptHeaders } from './attempt-headers.ts'
import { type Channel, SIMULATOR } from './channel.ts'
import { type PoolTls, poolTls } from './connection-pools.ts'
import { Connections, isClosedConnection, type Reach } from './connections.ts'
import { downloadRules } from './download.ts'
import { endpointUrl, methodOf } from './endpoint.ts'
import { followRedirects } from './redirects.ts'
import type { StreamedBody, UpstreamRequest } from './request.ts'

/** Sends one attempt and waits for the head of the answer. */
export type UpstreamClient = (request: UpstreamRequest) => Promise<Response>

/** What requests to upstreams are made with. */
interface ClientOptions {
  clock: Clock
  /** Looks after the time until the head; undefined: ones of its own. */
  deadlines?: Deadlines
  guard: AddressGuard
  /** Where the built-in simulator listens; asked only for channels that use it. */
  simulatorUrl: () => string
  /** Whether a connection to an address comes to stand; undefined asks nobody (a proxy connects). */
  reach?: Reach | undefined
}

/**
 * The client on Bun's fetch. Redirects are followed only where a request asks for it (download.ts), nothing is compressed
 * (Bun would leave stale headers), and Bun's own limit of 6 minutes is off: the channel's timeouts rule.
 */
export function createUpstreamClient(options: ClientOptions): UpstreamClient {
  const { clock, guard, simulatorUrl, deadlines = new Deadlines(clock) } = options
  const connections = new Connections(clock)
  const headersOf = new AttemptHeaders()
  return async request => {
    const { attempt, call } = request
    const channel = resolveSimulator(request.channel, simulatorUrl, attempt.signal)
    const deadline = deadlines.after(channel.timeouts.firstByteMs, () => attempt.abort(timeoutError(channel)))
    const url = endpointUrl(channel, call)
    let stopWatch: (() => void) | undefined
    try {
      const dial = guard.recall(channel, url) ?? (await orAborted(guard.dial(channel, url), attempt.signal))
      if (!connections.isWarm(channel.baseUrl)) stopWatch = watchConnection(channel, dial, attempt, options)
      const headers = headersOf.of(request, dial)
      const init = initOf(request, dial, headers)
      // A pooled connection that its other end has closed by now says nothing about the upstream.
      const mayBePooled = connections.wasHeard(channel.baseUrl)
      const sentAt = clock.elapsed()
      let response: Response
      try {
        response = await fetch(dial.url, init)
      } catch (error) {
        const isDead = mayBePooled && isClosedConnection(error) && clock.elapsed() - sentAt < DEAD_SOCKET_MS
        if (!isDead || attempt.signal.aborted) throw error
        // Once more, over a new one: nothing of an answer has come by then.
        response = await fetch(dial.url, { ...initOf(request, dial, headers), keepalive: false })
      }
      connections.heard(channel.baseUrl)
      if (request.followsRedirects !== true) return response
      const headersSent = attemptHeaders(request)
      const rules = downloadRules({ channel, guard, url, headers: headersSent, signal: attempt.signal })
      return await followRedirects(response, url, rules)
    } catch (error) {
      guard.forget(url)
      throw connectionError(error, attempt.signal, channel)
    } finally {
      deadlines.cancel(deadline)
      stopWatch?.()
    }
  }
}

/** A dead connection shows at once; one that is closed later was closed by an upstream that had the request. */
const DEAD_SOCKET_MS = 1_000

function initOf(
  { attempt, call, channel, body, pool = 0 }: UpstreamRequest,
  dial: Dial,
  headers: Headers,
): AttemptInit {
  const { signal } = attempt
  const init: AttemptInit = { method: methodOf(call), headers, redirect: 'manual', signal, timeout: false }
  const tls = poolTls(dial, pool)
  if (tls !== undefined) init.tls = tls
  if (channel.baseUrl === SIMULATOR) init.proxy = false
  if (body !== undefined) init.body = bodyOf(body)
  return init
}

/** What Bun's fetch takes beside the standard's options. */
interface AttemptInit extends RequestInit {
  /** No limit of its own. */
  timeout: false
  /** No proxy, whatever the environment says: the simulator is in this process. */
  proxy?: false
  tls?: PoolTls
}

/**
 * Ends an attempt whose connection does not come to stand within `connectMs`. Fetch does not tell when it has one, so
 * half of that time without a head goes by first, and then a bare connection to the same address is tried: nothing is
 * added to an attempt that is answered soon, and a slow one costs the upstream one connection.
 */
function watchConnection(
  channel: Channel,
  dial: Dial,
  attempt: AbortController,
  { clock, reach }: ClientOptions,
): () => void {
  if (reach === undefined) return () => {}
  const halfMs = channel.timeouts.connectMs / 2
  const giveUp = new AbortController()
  const stopProbe = clock.after(halfMs, () => {
    const settle = (stands: boolean) => {
      if (!stands) attempt.abort(unreachable(channel))
    }
    // A connection that is refused is the attempt's own to tell.
    reach(dial.url, halfMs, giveUp.signal).then(settle, () => undefined)
  })
  return () => {
    stopProbe()
    giveUp.abort()
  }
}

/** It listens from its first use on, for which there may be no file left. */
function resolveSimulator(channel: Channel, simulatorUrl: () => string, signal: AbortSignal): Channel {
  if (channel.baseUrl !== SIMULATOR) return channel
  try {
    return { ...channel, baseUrl: simulatorUrl(), allowPrivate: true }
  } catch (error) {
    throw connectionError(error, signal, channel)
  }
}

function bodyOf(body: Uint8Array | StreamedBody): Uint8Array | ReadableStream<Uint8Array> {
  return body instanceof Uint8Array ? body : body.open()
}

function timeoutError(channel: Channel): GatewayError {
  return new GatewayError('upstream_timeout', 'The upstream did not answer in time (response timed out)', {
    retry: 'next-channel',
    detail: `channel ${channel.name}: no head after ${channel.timeouts.firstByteMs} ms`,
  })
}

function unreachable(channel: Channel): GatewayError {
  return new GatewayError(
    'upstream_timeout',
    'The upstream could not be reached in time (connection timed out)',
    {
      retry: 'next-channel',
      detail: `channel ${channel.name}: no connection after ${channel.timeouts.connectMs} ms`,
    },
  )
}

/** A failure before any head: the reason of an abort of ours, an address that is refused, or a broken connection. */
function connectionError(error: unknown, signal: AbortSignal, channel: Channel): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof GatewayError) return error
  // No file is left for a socket: the fault of this process, which no other channel and no breaker can help.
  const code = codeOf(error)
  if (code === 'EMFILE' || code === 'ENFILE') {
    return new GatewayError('overloaded', 'This gateway has more to do than it can, try again in a moment', {
      retryAfterMs: 1_000,
      detail: `${code}: the limit of open files (ulimit -n) is reached`,
      cause: error,
    })
  }
  return new GatewayError('upstream_error', 'The upstream could not be reached', {
    retry: 'next-channel',
    detail: `channel ${channel.name}: ${error instanceof Error ? error.message : String(error)}`,
    cause: error,
  })
}
