import type { Clock } from '@/clock/clock.ts'
import { type Health, keysOf } from '@/routing/health/health.ts'
import type { Outcome } from '@/routing/health/outcome.ts'
import { type Affinity, type ConversationTraits, chainName, conversationName } from './affinity.ts'
import type { Concurrency } from './concurrency.ts'
import type { Route } from './model.ts'
import { type Candidate, type Destination, destinationOf, type Order, orderCandidates } from './order.ts'

/** What a selection is made from. */
interface SelectorOptions {
  health: Health
  concurrency: Concurrency
  affinity: Affinity
  clock: Pick<Clock, 'elapsed'>
  /** Numbers in [0, 1): the seed of a request that belongs to no conversation. */
  random: () => number
}

/** What may serve a request, in order, and the conversation it belongs to. */
interface Selection extends Order {
  conversation: string | undefined
  /** The same up to the response that is being made, where that can be gone on from. */
  chain: string | undefined
}

/** A place on a channel, taken for one attempt. */
export interface ChannelPlace {
  /** Reports how it went (`HealthTicket`). */
  report(outcome: Outcome, firstByteMs?: number): void
  /** Gives the place back, once the attempt and its stream are over, however they ended. A second call does nothing. */
  release(): void
}

/** Chooses the channel and key that serve a request, by health, free places, affinity and a weighted draw. */
export class Selector {
  readonly #options: SelectorOptions

  constructor(options: SelectorOptions) {
    this.#options = options
  }

  select(routes: readonly Route[], traits: ConversationTraits): Selection {
    const { clock, random } = this.#options
    const now = clock.elapsed()
    const candidates = this.#candidates(routes, now)
    const [only] = candidates
    // Most requests: with one candidate there is nothing to choose, and no need to know whose conversation it is.
    if (candidates.length === 1 && only?.standing.kind === 'ready' && !only.isFull) return alone(candidates)
    const conversation = candidates.length > 1 ? conversationName(traits) : undefined
    const options = {
      format: traits.format,
      alike: traits.alike,
      seed: conversation ?? (candidates.length > 1 ? String(random()) : ''),
      preferred: conversation === undefined ? undefined : this.#preferredOf(conversation, traits),
    }
    const chain =
      conversation === undefined || traits.chain === undefined
        ? undefined
        : chainName(traits, traits.chain.id)
    return { conversation, chain, ...orderCandidates(candidates, options, now) }
  }

  /**
   * Begins an attempt. Undefined if the channel filled up, or another request took the probe, since the order was
   * made: then the next candidate's turn has come.
   * @param isLastResort whether it is begun though the candidate is paused
   */
  begin(candidate: Candidate, requestId: string, isLastResort = false): ChannelPlace | undefined {
    const { health, concurrency } = this.#options
    const { route, key } = candidate
    const { channel, upstreamModel } = route
    if (!concurrency.acquire(channel, requestId)) return undefined
    const ticket = isLastResort
      ? health.beginAnyway(channel, key, upstreamModel)
      : health.begin(channel, key, upstreamModel)
    const release = () => concurrency.release(channel, requestId)
    if (ticket !== undefined) return { report: ticket.report, release }
    release()
    return undefined
  }

  /** The request was served here, so the conversation stays here: its prefix is in this upstream's cache now. */
  served({ conversation, chain, preferredIsFull }: Selection, candidate: Candidate): void {
    if (preferredIsFull) return
    const { affinity } = this.#options
    if (conversation !== undefined) affinity.served(conversation, destinationOf(candidate))
    if (chain !== undefined) affinity.served(chain, destinationOf(candidate))
  }

  /** The response that a request continues is a better sign than how it begins, since instructions may have changed. */
  #preferredOf(conversation: string, traits: ConversationTraits): Destination | undefined {
    const { affinity } = this.#options
    const previousId = traits.chain?.previousId
    const preferred = previousId === undefined ? undefined : affinity.of(chainName(traits, previousId))
    return preferred ?? affinity.of(conversation)
  }

  #candidates(routes: readonly Route[], now: number): Candidate[] {
    const { health, concurrency } = this.#options
    const candidates: Candidate[] = []
    for (const route of routes) {
      const isFull = concurrency.isFull(route.channel)
      for (const key of keysOf(route.channel)) {
        const standing = health.standing(route.channel, key, route.upstreamModel, now)
        candidates.push({ route, key, standing, isFull })
      }
    }
    return candidates
  }
}

/** One candidate and no question. */
function alone(ready: Candidate[]): Selection {
  return {
    conversation: undefined,
    chain: undefined,
    ready,
    paused: [],
    preferredIsFull: false,
    someAreFull: false,
    retryAfterMs: undefined,
  }
}
