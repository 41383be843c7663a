import type { Channel, ChannelKey } from './channel.ts'
import type { UpstreamCall } from './endpoint.ts'

/** One call of an upstream, ready to be sent. */
export interface UpstreamRequest {
  channel: Channel
  key: ChannelKey | undefined
  call: UpstreamCall
  /** Undefined for a call without one. */
  body: Uint8Array | StreamedBody | undefined
  /** Headers of the format (`anthropic-version`) and those of the caller that may pass. */
  headers: Readonly<Record<string, string>>
  /**
   * Ends the attempt at any point, its answer's body included: the caller left, the stream stalled, the answer was cut on
   * purpose; and here, when there is no connection or no head in time.
   */
  attempt: AbortController
  /** Which pool of connections it goes over (connection-pools.ts); undefined: the first. */
  pool?: number | undefined
  /** Whether redirects are followed, as downloads need it; the key goes to the channel's own origin alone. */
  followsRedirects?: boolean | undefined
}

/** A body that is too large to be kept in memory; opened anew for each attempt. */
export interface StreamedBody {
  /** In bytes. */
  length: number
  open(): ReadableStream<Uint8Array>
}
