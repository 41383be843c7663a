import type { ChannelEntry } from '@/config/entries.ts'

/** How long an attempt on a channel may wait, in ms. */
export interface Timeouts {
  /** Until the connection stands and the request is on its way. */
  connectMs: number
  /** From the request until the head of the answer. */
  firstByteMs: number
  /** Between two reads of the answer. */
  idleMs: number
}

/** One key of a channel's pool. The secret is in memory only; the database holds it encrypted. */
export interface ChannelKey {
  id: number
  secret: string
}

/** The base address that means the built-in simulator, wherever this process has it. */
export const SIMULATOR = 'simulator:'

/** A configured way to reach one vendor: what the operator says of it, as requests use it. */
export interface Channel extends Omit<ChannelEntry, 'apiKeys' | 'timeouts'> {
  id: number
  /** The pool; empty for an upstream that wants no key. */
  keys: readonly ChannelKey[]
  timeouts: Timeouts
  /** Whose reasoning signatures this upstream can read: the host name of its address. */
  vendor: string
}
