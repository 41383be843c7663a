import type { Format } from '@/generation/format.ts'
import type { Standing } from '@/routing/health/breaker.ts'
import type { FailureKind } from '@/routing/health/outcome.ts'
import type { ChannelKey } from '@/upstream/channel.ts'
import type { Route } from './model.ts'

/** One way to make an attempt, and what is known of it at this moment. */
export interface Candidate {
  route: Route
  /** Undefined for an upstream that wants no key. */
  key: ChannelKey | undefined
  /** What the breakers of channel and key say (health.ts). */
  standing: Standing
  /** True: the channel runs as much as it may (concurrency.ts). */
  isFull: boolean
}

/** Where a conversation can be served: a channel, and the key that is used there. */
export interface Destination {
  channelId: number
  keyId: number | undefined
}

/** What an order of candidates depends on beside their health. */
export interface OrderOptions {
  /** The caller's format: an upstream that speaks it comes before one that needs conversion. */
  format: Format
  /** Formats that count as the caller's own. */
  alike?: readonly Format[] | undefined
  /**
   * Draws by weight. The same seed draws the same, so the seed of a conversation keeps it where it is
   * (rendezvous hashing): a candidate that joins takes its share of them, one that leaves gives up its own, and no
   * other moves.
   */
  seed: string
  /** Where the conversation was served last; comes first whatever its priority, as long as it is healthy. */
  preferred: Destination | undefined
}

/** What to try, in which order. */
export interface Order {
  ready: Candidate[]
  /** What the breakers hold back, soonest back first: a last resort for those who find nothing ready. */
  paused: Candidate[]
  /** True: the preferred destination is healthy but full, so it stays preferred whoever serves this time. */
  preferredIsFull: boolean
  /** True: something was left out since it is full. */
  someAreFull: boolean
  /** If nothing is ready: how long until something may be, in ms; undefined if nothing ever will. */
  retryAfterMs: number | undefined
}

/** A full channel may have a place again at any moment. */
const FULL_RETRY_MS = 1_000

/**
 * The order in which candidates are tried. Pure. By the channel's priority, then the route's; then the caller's own
 * format; then a draw by weight between routes, and an even one between the keys of a route. Weight 0 comes last of
 * its priority. What is full is left out, what is paused is apart.
 */
export function orderCandidates(candidates: readonly Candidate[], options: OrderOptions, now: number): Order {
  const sorted = candidates.map(candidate => rank(candidate, options)).sort(compare)
  const free = sorted.filter(({ candidate }) => !candidate.isFull)
  const ready = free.filter(({ candidate }) => candidate.standing.kind !== 'paused')
  const paused = free
    .filter(({ candidate }) => candidate.standing.kind === 'paused')
    .sort((one, other) => untilOf(one.candidate) - untilOf(other.candidate))
  const retryAfterMs = ready.length > 0 ? undefined : soonest(candidates, now)
  return {
    ready: ready.map(({ candidate }) => candidate),
    paused: paused.map(({ candidate }) => candidate),
    someAreFull: free.length < sorted.length,
    preferredIsFull: sorted.some(
      ({ isPreferred, candidate }) => isPreferred && candidate.isFull && candidate.standing.kind !== 'paused',
    ),
    retryAfterMs,
  }
}

/**
 * What is left to try after a candidate failed. An upstream that fails is likely to fail with its next key too, so the
 * channel's others go to the end; what it refuses in its format (`ignored`) it refuses with each, so they go. A limit or
 * a refusal is the key's own, or one model's with it, and the next key of the channel is still the nearest to the
 * conversation's cache.
 */
export function afterFailure(
  rest: readonly Candidate[],
  failed: Candidate,
  kind: FailureKind | 'ignored',
): Candidate[] {
  const { upstreamModel, channel } = failed.route
  if (kind === 'ignored') {
    return rest.filter(
      ({ route }) => route.channel.id !== channel.id || route.upstreamModel !== upstreamModel,
    )
  }
  if (kind === 'model_refused' || kind === 'upstream_rate_limited') {
    return rest.filter(
      ({ route, key }) =>
        !isDestination({ route, key }, destinationOf(failed)) || route.upstreamModel !== upstreamModel,
    )
  }
  if (kind === 'upstream_auth') {
    return rest.filter(({ route, key }) => !isDestination({ route, key }, destinationOf(failed)))
  }
  return lastWhere(rest, ({ route }) => route.channel.id === channel.id)
}

/** Candidates in their order, but with those of which this is true at the end. */
export function lastWhere(
  candidates: readonly Candidate[],
  isLast: (candidate: Candidate) => boolean,
): Candidate[] {
  return [...candidates.filter(candidate => !isLast(candidate)), ...candidates.filter(isLast)]
}

/** What of a candidate a conversation comes back to. */
export function destinationOf({ route, key }: Pick<Candidate, 'route' | 'key'>): Destination {
  return { channelId: route.channel.id, keyId: key?.id }
}

interface Ranked {
  candidate: Candidate
  isPreferred: boolean
  /** Compared number by number; lower is first. */
  ranks: readonly number[]
}

function rank(candidate: Candidate, { format, alike, seed, preferred }: OrderOptions): Ranked {
  const { route, key } = candidate
  const { channel } = route
  const isPreferred = preferred !== undefined && isDestination(candidate, preferred)
  const routeName = `${channel.id}/${route.upstreamModel}`
  return {
    candidate,
    isPreferred,
    ranks: [
      isPreferred ? 0 : 1,
      channel.priority,
      route.priority,
      channel.format === format || alike?.includes(channel.format) === true ? 0 : 1,
      draw(channel.weight * route.weight, `${seed}/${routeName}`),
      // A draw between routes can be a tie (weight 0); the keys of each must stay together.
      channel.id,
      draw(1, `${seed}/${routeName}/${key?.id}`),
    ],
  }
}

function isDestination({ route, key }: Pick<Candidate, 'route' | 'key'>, destination: Destination): boolean {
  return route.channel.id === destination.channelId && key?.id === destination.keyId
}

function compare(one: Ranked, other: Ranked): number {
  for (const [index, value] of one.ranks.entries()) {
    const against = other.ranks[index] ?? 0
    if (value !== against) return value < against ? -1 : 1
  }
  return 0
}

/**
 * Sorting by these numbers draws without replacement in proportion to the weights. xxHash64 is a fixed function:
 * every process and every release draws alike. What has no weight is infinitely far behind.
 */
function draw(weight: number, text: string): number {
  const uniform = (Number(Bun.hash.xxHash64(text) >> 11n) + 0.5) / 2 ** 53
  return -Math.log(uniform) / weight
}

function untilOf({ standing }: Candidate): number {
  return standing.kind === 'paused' ? standing.until : 0
}

function soonest(candidates: readonly Candidate[], now: number): number | undefined {
  const waits = candidates.map(candidate =>
    Math.max(candidate.isFull ? FULL_RETRY_MS : 1, untilOf(candidate) - now),
  )
  return waits.length === 0 ? undefined : Math.min(...waits)
}
