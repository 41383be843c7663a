import type { Surface } from '@/generation/surface.ts'
import type { LimitState } from './answer.ts'
import type { LimitKind } from './plan.ts'

type Headers = Record<string, string>

const WINDOW_S = 60

/**
 * How a request's limits stand, in the names of the surface's vendor and in those of the IETF draft. Of several limits
 * of one kind the tightest is told. `now` in milliseconds since 1970.
 */
export function limitHeaders(surface: Surface, limits: readonly LimitState[], now: number): Headers {
  const told: LimitState[] = []
  for (const kind of KINDS) {
    const limit = tightest(limits, kind)
    if (limit !== undefined) told.push(limit)
  }
  const headers: Headers = {}
  VENDOR_HEADERS[dialectOf(surface)](headers, told, now)
  addStandard(headers, told)
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

const KINDS: readonly LimitKind[] = ['requests', 'tokens', 'concurrent']

function tightest(limits: readonly LimitState[], kind: LimitKind): LimitState | undefined {
  let least: LimitState | undefined
  for (const limit of limits) if (limit.kind === kind && isTighter(limit, least)) least = limit
  return least
}

function isTighter(limit: LimitState, than: LimitState | undefined): boolean {
  if (than === undefined || limit.remaining < than.remaining) return true
  return limit.remaining === than.remaining && limit.limit < than.limit
}

type Dialect = 'openai' | 'anthropic' | 'google'

function dialectOf(surface: Surface): Dialect {
  if (surface === 'messages') return 'anthropic'
  return surface === 'gemini' ? 'google' : 'openai'
}

type Writer = (headers: Headers, limits: readonly LimitState[], now: number) => void

/** Vendors have no headers for what runs at once. */
const VENDOR_HEADERS: Record<Dialect, Writer> = {
  openai(headers, limits) {
    for (const { kind, limit, remaining, resetMs } of limits) {
      if (kind === 'concurrent') continue
      headers[`x-ratelimit-limit-${kind}`] = String(limit)
      headers[`x-ratelimit-remaining-${kind}`] = String(remaining)
      headers[`x-ratelimit-reset-${kind}`] = openaiDuration(resetMs)
    }
  },
  anthropic(headers, limits, now) {
    for (const { kind, limit, remaining, resetMs } of limits) {
      if (kind === 'concurrent') continue
      headers[`anthropic-ratelimit-${kind}-limit`] = String(limit)
      headers[`anthropic-ratelimit-${kind}-remaining`] = String(remaining)
      headers[`anthropic-ratelimit-${kind}-reset`] = instant(now + resetMs)
    }
  },
  // Google tells limits in the body of a 429 only.
  google() {},
}

/** RFC 3339 in whole seconds, rounded up. */
function instant(ms: number): string {
  return new Date(Math.ceil(ms / 1_000) * 1_000).toISOString().replace('.000Z', 'Z')
}

/** https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ */
function addStandard(headers: Headers, limits: readonly LimitState[]): void {
  if (limits.length === 0) return
  headers['ratelimit-policy'] = limits.map(policy).join(', ')
  headers['ratelimit'] = limits.map(service).join(', ')
}

function policy({ scope, kind, limit }: LimitState): string {
  const name = `"${scope}-${kind}";q=${limit}`
  if (kind === 'concurrent') return `${name};qu="concurrent-requests"`
  return kind === 'tokens' ? `${name};qu="tokens";w=${WINDOW_S}` : `${name};w=${WINDOW_S}`
}

function service({ scope, kind, remaining, resetMs }: LimitState): string {
  const name = `"${scope}-${kind}";r=${remaining}`
  return kind === 'concurrent' ? name : `${name};t=${Math.ceil(resetMs / 1_000)}`
}
