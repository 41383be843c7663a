import type { Clock } from '@/clock/clock.ts'
import { dropOldest } from '@/clock/oldest.ts'
import type { Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'
import type { Texts } from '@/json/outline.ts'
import { digestOpening } from './conversation-opening.ts'
import type { Destination } from './order.ts'

/** What of a request identifies the conversation that it belongs to. */
export interface ConversationTraits {
  accountId: number
  /** The model's id, not an alias. */
  model: string
  /** The caller's. */
  format: Format
  /** Others that serve the caller as well, since they stand on the same API; none unless said. */
  alike?: readonly Format[] | undefined
  headers: Headers
  body: JsonObject
  /** What the body's strings stand for, where it is an outline; else they are what they seem. */
  texts?: Texts
  /** Where the request stands in a chain of responses; undefined: in none. */
  chain?: ResponseChain | undefined
}

/** A response that is known by an id, and the one that it goes on from. */
export interface ResponseChain {
  id: string
  previousId: string | undefined
}

/** Headers in which clients name their session, the most telling first (Claude Code, Codex, opencode). */
const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'x-session-id'] as const

/** Longer names than any client's are as good as cut off. */
const MAX_NAME = 1024

/**
 * The name of a conversation: requests that share it are likely to share a prompt prefix, so an upstream that served
 * one has the next in its cache. What the caller says it is, else the session, else how the conversation begins;
 * undefined if it has no beginning. Never the same for two accounts. It is the seed of the draw (order.ts) as well.
 */
export function conversationName(traits: ConversationTraits): string | undefined {
  const { body, headers } = traits
  const told = body['prompt_cache_key']
  if (typeof told === 'string' && told !== '') return name(traits, 'key', told)
  for (const header of SESSION_HEADERS) {
    const session = headers.get(header)
    if (session !== null && session !== '') return name(traits, 'session', session)
  }
  const opening = digestOpening(traits.format, body, traits.texts)
  return opening === undefined ? undefined : name(traits, 'opening', opening)
}

/** The name of a conversation as far as one response of it: whoever goes on from there goes to where it was made. */
export function chainName({ accountId, model }: ConversationTraits, responseId: string): string {
  return `${accountId}/${model}/response/${responseId.slice(0, MAX_NAME)}`
}

function name({ accountId, model }: ConversationTraits, kind: string, told: string): string {
  // A hash, since session ids are the caller's own affair and must not lie about in memory or in a log.
  const hash = Bun.hash.xxHash64(`${kind}:${told.slice(0, MAX_NAME)}`).toString(36)
  return `${accountId}/${model}/${hash}`
}

/** A conversation that was silent for so long is in no vendor's prompt cache any more. */
export const AFFINITY_MS = 3_600_000
const MAX_CONVERSATIONS = 50_000

/**
 * Remembers which channel and key served each conversation last, since its prompt is cached there. The draw (order.ts)
 * needs no memory to send a conversation to the same place again; this is for conversations that a failover moved, and for
 * the day when a new channel would draw them away. Lost on restart, which costs some cache hits.
 */
export class Affinity {
  readonly #clock: Pick<Clock, 'elapsed'>
  /** The most recently served last. */
  readonly #served = new Map<string, Destination & { servedAt: number }>()

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  /** Where the conversation was served last. */
  of(conversation: string): Destination | undefined {
    const served = this.#served.get(conversation)
    if (served === undefined || this.#clock.elapsed() - served.servedAt > AFFINITY_MS) return undefined
    return { channelId: served.channelId, keyId: served.keyId }
  }

  /**
   * Notes where the conversation was served. Not to be called where it went elsewhere only because its preferred
   * destination was full (`Order.preferredIsFull`): its prompt is still cached there.
   */
  served(conversation: string, { channelId, keyId }: Destination): void {
    this.#served.delete(conversation)
    this.#served.set(conversation, { channelId, keyId, servedAt: this.#clock.elapsed() })
    dropOldest(this.#served, MAX_CONVERSATIONS)
  }
}
