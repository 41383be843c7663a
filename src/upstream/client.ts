import type { Clock } from '@/clock/clock.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { AddressGuard } from './address-guard.ts'
import type { Channel, ChannelKey } from './channel.ts'
import { endpointUrl, keyHeaders, type UpstreamCall } from './endpoint.ts'

export interface UpstreamRequest {
  channel: Channel
  key: ChannelKey | undefined
  call: UpstreamCall
  body: Uint8Array
  /** Headers of the format (`anthropic-version`) and those of the caller that may pass. */
  headers: Readonly<Record<string, string>>
  /** Aborts the attempt at any point: the caller left, the stream stalled, the answer was cut on purpose. */
  signal: AbortSignal
}

/** Sends one attempt and waits for the head of the answer. */
export type UpstreamClient = (request: UpstreamRequest) => Promise<Response>

/** What every upstream learns about us. */
const USER_AGENT = 'tollgate'

/** The base address that means the built-in simulator, wherever this process has it. */
const SIMULATOR = 'simulator:'

export interface ClientOptions {
  clock: Clock
  guard: AddressGuard
  /** Where the built-in simulator listens; asked only for channels that use it. */
  simulatorUrl: () => string
}

/**
 * The client on Bun's fetch. No redirect is followed (the key would travel with it), nothing is compressed (Bun would
 * leave stale headers), and Bun's own 6 minute limit is off: the channel's timeouts rule.
 */
export function createUpstreamClient({ clock, guard, simulatorUrl }: ClientOptions): UpstreamClient {
  return async request => {
    const { signal } = request
    const channel = resolveSimulator(request.channel, simulatorUrl)
    const attempt = new AbortController()
    const abort = () => attempt.abort(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    const stopTimer = clock.after(channel.timeouts.firstByteMs, () => {
      attempt.abort(timeoutError(channel))
    })
    const url = endpointUrl(channel, request.call)
    try {
      const dial = await orAborted(guard.dial(channel, url), attempt.signal)
      return await fetch(dial.url, {
        method: 'POST',
        headers: { ...attemptHeaders(request), ...dial.headers },
        body: request.body,
        redirect: 'manual',
        signal: attempt.signal,
        // Bun's name for "no limit of its own"; not in the DOM's RequestInit.
        ...{ timeout: false },
        ...(dial.tls === undefined ? {} : { tls: dial.tls }),
      })
    } catch (error) {
      guard.forget(url)
      throw connectionError(error, attempt.signal, channel)
    } finally {
      stopTimer()
    }
  }
}

function resolveSimulator(channel: Channel, simulatorUrl: () => string): Channel {
  return channel.baseUrl === SIMULATOR ? { ...channel, baseUrl: simulatorUrl(), allowPrivate: true } : channel
}

/** What the work gives, or the reason of an abort if that is sooner: looking up a name cannot be cancelled. */
function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

function attemptHeaders(request: UpstreamRequest): Record<string, string> {
  const { channel, key } = request
  return {
    'content-type': 'application/json',
    accept: request.call.stream ? 'text/event-stream' : 'application/json',
    'accept-encoding': 'identity',
    'user-agent': USER_AGENT,
    ...request.headers,
    ...(key === undefined ? {} : keyHeaders(channel.format, key.secret)),
    ...channel.headers,
  }
}

function timeoutError(channel: Channel): GatewayError {
  return new GatewayError('upstream_timeout', 'The upstream did not answer in time', {
    retry: 'next-channel',
    detail: `channel ${channel.name}: no head after ${channel.timeouts.firstByteMs} ms`,
  })
}

/** A failure before any head: the reason of an abort of ours, an address that is refused, or a broken connection. */
function connectionError(error: unknown, signal: AbortSignal, channel: Channel): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof GatewayError) return error
  return new GatewayError('upstream_error', 'The upstream could not be reached', {
    retry: 'next-channel',
    detail: `channel ${channel.name}: ${error instanceof Error ? error.message : String(error)}`,
    cause: error,
  })
}
