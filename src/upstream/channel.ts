import type { Format } from '@/generation/format.ts'
import type { ThinkTags } from '@/generation/think-tags.ts'

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

/** A configured way to reach one vendor. */
export interface Channel {
  id: number
  name: string
  format: Format
  /** Without a trailing slash; with or without a version segment (`/v1`, `/v1beta`). */
  baseUrl: string
  /** The pool; empty for an upstream that wants no key. */
  keys: readonly ChannelKey[]
  /** Lower is tried first. */
  priority: number
  /** Share among channels of equal priority. */
  weight: number
  /** Added to every attempt. */
  headers: Readonly<Record<string, string>>
  timeouts: Timeouts
  /** Most exchanges at once; undefined is no limit. */
  maxConcurrent: number | undefined
  /** True: this upstream accepts nothing but function tools. */
  functionToolsOnly: boolean
  /** How its models write their thoughts into the text; undefined: they do not. */
  thinkTags: ThinkTags | undefined
  /** True: prompts of other formats' callers are kept, where its format keeps none unasked. */
  cachePrompts: boolean
  /** Whether the address may be on a private network. */
  allowPrivate: boolean
  /** Whose reasoning signatures this upstream can read: the host name of its address. */
  vendor: string
}
