import { fitKey } from '@/formats/fitted-values.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import type { Losses } from '@/formats/losses.ts'
import type { Format } from '@/generation/format.ts'
import type { CacheMark } from '@/generation/part.ts'
import type { GenerationRequest } from '@/generation/request.ts'
import { readServiceTier } from '@/generation/service-tier.ts'
import { readCount, wholeCount } from '@/generation/usage.ts'
import { asNonEmpty, asObject, asString, type JsonObject, type JsonValue, present } from '@/json/json.ts'
import { reasonsAt } from './models.ts'

const HINTS = ['prompt_cache_retention', 'prompt_cache_options', 'user'] as const

/** What of `prompt_cache_options` both formats have; the rest names answers that only Responses keeps. */
const OPTIONS: ReadonlySet<string> = new Set(['mode', 'ttl'])

/** Whether a field is a hint that both of OpenAI's formats spell alike and other vendors do not have. */
export function isSharedHint(name: string): boolean {
  return HINTS.some(hint => hint === name)
}

/**
 * What was written to a cache by a usage and its details of the prompt: all of it, and what of that is kept for long.
 * LiteLLM, Alibaba and new-api have names of their own.
 */
export function cacheWrites(
  usage: JsonObject,
  details: JsonObject | undefined,
): { all: number; long: number } {
  const all =
    details?.['cache_write_tokens'] ??
    details?.['cache_creation_tokens'] ??
    details?.['cached_creation_tokens'] ??
    details?.['cache_creation_input_tokens']
  const long =
    asObject(details?.['cache_write_tokens_details'])?.['ttl_12h_tokens'] ??
    asObject(details?.['cache_creation_token_details'])?.['ephemeral_1h_input_tokens'] ??
    usage['claude_cache_creation_1_h_tokens']
  return { all: wholeCount(all), long: wholeCount(long) }
}

/**
 * The prompt's tokens that a cache had to do with. OpenRouter tells those that Gemini writes and reads at once as both, and
 * charges for both: they count as written, which is the dearer.
 */
export function cachedIn(
  prompt: number,
  hits: number,
  written: { all: number; long: number },
): { cacheRead: number; cacheWrite5m: number; cacheWrite1h: number } {
  const all = Math.min(written.all, prompt)
  const long = Math.min(written.long, all)
  return { cacheRead: Math.min(hits, prompt - all), cacheWrite5m: all - long, cacheWrite1h: long }
}

/** What a request in one of OpenAI's formats hints that the other one takes as well, as extensions of that other format. */
export function sharedHints(
  body: JsonObject,
  other: 'openai-chat-completions' | 'openai-responses',
): Partial<Record<Format, JsonObject>> {
  const said = HINTS.filter(name => (body[name] ?? null) !== null && isShared(name, body, other))
  return said.length === 0 ? {} : { [other]: Object.fromEntries(said.map(name => [name, body[name]])) }
}

function isShared(name: (typeof HINTS)[number], body: JsonObject, other: Format): boolean {
  if (name === 'user') return olderUser(body) !== undefined
  if (name === 'prompt_cache_retention') return true
  const options = asObject(body[name])
  // Chat has one lifetime for a whole prompt: https://developers.openai.com/api/docs/guides/prompt-caching
  if (other === 'openai-chat-completions' && (options?.['ttl'] ?? '30m') !== '30m') return false
  return options !== undefined && Object.keys(options).every(key => OPTIONS.has(key))
}

/** Who the end user is. `safety_identifier` is the newer name of `user`, and says the same where that is not given. */
export function endUser({ safety_identifier: newer, user }: JsonObject): string | undefined {
  return asNonEmpty(newer) ?? asNonEmpty(user)
}

/** What `user` says where that is another than the end user. */
export function olderUser(body: JsonObject): string | undefined {
  const user = asNonEmpty(body['user'])
  return user === endUser(body) ? undefined : user
}

/** The end user as both formats write it, and what only they were told under the older name. */
export function userFields(user: string | undefined, older: JsonObject[string]): JsonObject {
  if (typeof older !== 'string') return present({ user: fitKey(user, MAX_KEY) })
  return present({ user: fitKey(older, MAX_KEY), safety_identifier: fitKey(user, MAX_KEY) })
}

/** The longest that `user`, `safety_identifier` and `prompt_cache_key` may be. */
export const MAX_KEY = 64

/** The service tiers that both of OpenAI's formats have words for. */
export const OPENAI_TIERS: ReadonlySet<string> = new Set([
  ...['auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'],
])

/** The tier that an answer was served in, as OpenAI's two formats spell it; nothing of one that they do not know. */
export function openaiTier(tier: string | undefined): { service_tier?: string } {
  if (readServiceTier(tier) === 'ordinary') return { service_tier: 'default' }
  return tier !== undefined && OPENAI_TIERS.has(tier) ? { service_tier: tier } : {}
}

/** See Codec. */
export function servedTier(answer: JsonObject): string | undefined {
  return asString(answer['service_tier'])
}

/** One side of a usage by its total and the other. */
export function restOf(usage: JsonObject, other: string): number {
  return wholeCount(usage['total_tokens']) - wholeCount(usage[other])
}

/** What chooses among the words that a model has found, and tells of those that it did not take. */
type Sampling = Pick<GenerationRequest, 'temperature' | 'topP' | 'logprobs'>

/**
 * Sampling as a model takes it that is told this effort: none while it reasons. Its own defaults said aloud are no loss.
 * https://developers.openai.com/api/docs/guides/latest-model#gpt-54-parameter-compatibility
 */
export function takenSampling(
  { temperature, topP, logprobs }: Sampling,
  model: Parameters<typeof reasonsAt>[0],
  effort: JsonValue | undefined,
  losses: Losses,
): Sampling {
  if (reasonsAt(model, effort) !== true) return { temperature, topP, logprobs }
  if ((temperature ?? 1) !== 1) losses.add('temperature')
  if ((topP ?? 1) !== 1) losses.add('topP')
  if (logprobs !== undefined) losses.add('logprobs')
  return { temperature: undefined, topP: undefined, logprobs: undefined }
}

/** The tokens of both sides, as OpenAI's operations tell them; undefined where one is not told. */
export function toldSides(usage: JsonObject | undefined): { input: number; output: number } | undefined {
  const input = readCount(usage?.['input_tokens'])
  const output = readCount(usage?.['output_tokens'])
  return input === undefined || output === undefined ? undefined : { input, output }
}

/** `metadata` as both formats have it; an empty one says nothing. */
export function decodeMetadata({ metadata }: JsonObject): GenerationRequest['metadata'] {
  const texts = Object.entries(asObject(metadata) ?? {}).map(([key, value]) => {
    if (typeof value !== 'string') throw invalidRequest(`metadata.${key}`, 'expected string')
    return [key, value]
  })
  return texts.length === 0 ? undefined : Object.fromEntries(texts)
}

/** A cache mark as both formats write it: of lifetimes OpenAI has 30 minutes and 12 hours, for 5 minutes and an hour. */
export function cacheBreakpoint({ ttl }: CacheMark): JsonObject {
  const lifetime = ttl === undefined ? {} : { ttl: ttl === '1h' ? '12h' : '30m' }
  return { prompt_cache_breakpoint: { mode: 'explicit', ...lifetime } }
}
