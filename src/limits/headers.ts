import type { Surface } from '@/generation/surface.ts'
import type { LimitState } from './answer.ts'
import { LIMIT_KINDS, type LimitKind, type LimitScope } from './plan.ts'

type Headers = Record<string, string>

const WINDOW_S = 60

/**
 * How a request's limits stand, in the names of the surface's vendor and in those of the IETF draft. Of several limits
 * of one kind the tightest is told. `now` in milliseconds since 1970. Added to `headers`, which are the result.
 */
export function limitHeaders(
  surface: Surface,
  limits: readonly LimitState[],
  now: number,
  headers: Headers = {},
): Headers {
  const addVendor = vendorHeaders(surface)
  let policies = ''
  let services = ''
  for (const kind of LIMIT_KINDS) {
    const limit = tightest(limits, kind)
    if (limit === undefined) continue
    const { policy, service } = wordsOf(limit)
    addVendor(headers, limit, now)
    policies = policies === '' ? policy : `${policies}, ${policy}`
    const stands = `${service}${limit.remaining}${resetOf(limit)}`
    services = services === '' ? stands : `${services}, ${stands}`
  }
  if (policies === '') return headers
  // https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
  headers['ratelimit-policy'] = policies
  headers['ratelimit'] = services
  return headers
}

/**
 * When to try again: whole seconds, at least one, and up to a tenth more for some, so that those who were refused
 * together do not return together. `random` is from 0 to below 1.
 */
export function retryAfterSeconds(retryAfterMs: number, random: number): number {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000))
  return seconds + Math.floor(random * (1 + seconds / 10))
}

/** A duration as OpenAI writes it: `12ms`, `1.5s`, `6m0s`, `1h0m0s`. */
export function openaiDuration(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${ms}ms`
  const minutes = Math.floor(ms / 60_000)
  const seconds = `${(ms % 60_000) / 1_000}s`
  if (minutes === 0) return seconds
  return minutes < 60 ? `${minutes}m${seconds}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`
}

function tightest(limits: readonly LimitState[], kind: LimitKind): LimitState | undefined {
  let least: LimitState | undefined
  for (const limit of limits) if (limit.kind === kind && isTighter(limit, least)) least = limit
  return least
}

function isTighter(limit: LimitState, than: LimitState | undefined): boolean {
  if (than === undefined || limit.remaining < than.remaining) return true
  return limit.remaining === than.remaining && limit.limit < than.limit
}

/** What adds the vendor's own headers for a limit, of which none has any for what runs at once. */
function vendorHeaders(surface: Surface): (headers: Headers, limit: LimitState, now: number) => void {
  if (surface === 'messages') return addAnthropic
  // Google tells limits in the body of a 429 only.
  return surface === 'gemini' ? () => undefined : addOpenai
}

function addOpenai(headers: Headers, { kind, limit, remaining, resetMs }: LimitState): void {
  if (kind === 'concurrent') return
  const names = OPENAI_NAMES[kind]
  headers[names.limit] = String(limit)
  headers[names.remaining] = String(remaining)
  headers[names.reset] = openaiDuration(resetMs)
}

function addAnthropic(headers: Headers, { kind, limit, remaining, resetMs }: LimitState, now: number): void {
  if (kind === 'concurrent') return
  const names = ANTHROPIC_NAMES[kind]
  headers[names.limit] = String(limit)
  headers[names.remaining] = String(remaining)
  headers[names.reset] = instant(now + resetMs)
}

/** Written out: composing a name for each answer costs more than its value. */
const OPENAI_NAMES = {
  requests: {
    limit: 'x-ratelimit-limit-requests',
    remaining: 'x-ratelimit-remaining-requests',
    reset: 'x-ratelimit-reset-requests',
  },
  tokens: {
    limit: 'x-ratelimit-limit-tokens',
    remaining: 'x-ratelimit-remaining-tokens',
    reset: 'x-ratelimit-reset-tokens',
  },
} as const

const ANTHROPIC_NAMES = {
  requests: {
    limit: 'anthropic-ratelimit-requests-limit',
    remaining: 'anthropic-ratelimit-requests-remaining',
    reset: 'anthropic-ratelimit-requests-reset',
  },
  tokens: {
    limit: 'anthropic-ratelimit-tokens-limit',
    remaining: 'anthropic-ratelimit-tokens-remaining',
    reset: 'anthropic-ratelimit-tokens-reset',
  },
} as const

/** RFC 3339 in whole seconds, rounded up. */
function instant(ms: number): string {
  return new Date(Math.ceil(ms / 1_000) * 1_000).toISOString().replace('.000Z', 'Z')
}

/** What the standard's headers say of a limit that is the same for every answer. */
interface Words {
  policy: string
  /** Up to what remains. */
  service: string
}

/** More than any deployment has different limits. */
const MAX_WORDS = 1_000

const known: Record<LimitScope, Record<LimitKind, Map<number, Words>>> = {
  key: wordsByKind(),
  account: wordsByKind(),
  'account-model': wordsByKind(),
  model: wordsByKind(),
}

function wordsByKind(): Record<LimitKind, Map<number, Words>> {
  return { requests: new Map(), tokens: new Map(), concurrent: new Map() }
}

function wordsOf({ scope, kind, limit }: LimitState): Words {
  const byLimit = known[scope][kind]
  const found = byLimit.get(limit)
  if (found !== undefined) return found
  const name = `"${scope}-${kind}"`
  const words = { policy: `${name};q=${limit}${UNITS[kind]}`, service: `${name};r=` }
  if (byLimit.size >= MAX_WORDS) byLimit.clear()
  byLimit.set(limit, words)
  return words
}

const UNITS: Record<LimitKind, string> = {
  requests: `;w=${WINDOW_S}`,
  tokens: `;qu="tokens";w=${WINDOW_S}`,
  concurrent: ';qu="concurrent-requests"',
}

function resetOf({ kind, resetMs }: LimitState): string {
  return kind === 'concurrent' ? '' : `;t=${Math.ceil(resetMs / 1_000)}`
}
