import { dropOldest } from '@/clock/oldest.ts'
import type { Prompt, Segment } from '@/simulator/prompt.ts'

/**
 * Input tokens in disjoint parts: their sum is the prompt. The rule: a segment costs a quarter of its UTF-8 bytes, rounded
 * up, and 85 for every image, sound or file. Output tokens are the words of words.ts, plus 258 for an image.
 */
export interface InputCount {
  uncached: number
  cacheRead: number
  cacheWrite5m: number
  cacheWrite1h: number
}

/** How a vendor caches: by itself when the prompt is long, at the caller's marks only, or both. */
export type CachePolicy = 'implicit' | 'marks' | 'implicit-and-marks'

const MEDIA_TOKENS = 85
/** Prompts below this are never cached by themselves. */
const IMPLICIT_FROM = 1024
/** Implicit cache reads come in whole blocks. */
const IMPLICIT_BLOCK = 128
const REMEMBERED_PREFIXES = 10_000

/** Tokens of the whole prompt, without a cache: what the counting paths answer. */
export function countPrompt(prompt: Prompt): number {
  return prompt.segments.reduce((sum, segment) => sum + tokensOf(segment), 0)
}

/** The prompts that a vendor remembers: a cache in memory that forgets its oldest prefixes; one per simulator, so that tests do not see one another. */
export function createPromptCache() {
  const seen = new Set<string>()
  return {
    /** Counts the prompt and remembers its prefixes, so that the next prompt with the same start reads them. */
    count(prompt: Prompt, policy: CachePolicy): InputCount {
      const total = countPrompt(prompt)
      const marked = policy !== 'implicit' && prompt.segments.some(segment => segment.mark !== undefined)
      const implicit = policy !== 'marks' && total >= IMPLICIT_FROM
      if (!marked && !implicit) return { uncached: total, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 }
      const prefixes = prefixesOf(prompt)
      const result = marked ? countMarked(prefixes, seen, total) : countImplicit(prefixes, seen, total)
      for (const prefix of prefixes) {
        if (implicit || prefix.mark !== undefined) remember(seen, prefix.key)
      }
      return result
    },
  }
}

interface Prefix {
  key: string
  tokens: number
  mark: Segment['mark']
}

function prefixesOf(prompt: Prompt): Prefix[] {
  let hash = Bun.hash(prompt.model)
  let tokens = 0
  return prompt.segments.map(segment => {
    hash = Bun.hash(segment.text, BigInt(hash))
    tokens += tokensOf(segment)
    return { key: hash.toString(36), tokens, mark: segment.mark }
  })
}

/** At marks: the longest marked prefix seen before is read, the marks behind it are written. */
function countMarked(prefixes: Prefix[], seen: Set<string>, total: number): InputCount {
  const cacheRead = longestSeen(prefixes, seen)
  const written = { '5m': 0, '1h': 0 }
  let covered = cacheRead
  for (const prefix of prefixes) {
    if (prefix.mark === undefined || prefix.tokens <= covered) continue
    written[prefix.mark] += prefix.tokens - covered
    covered = prefix.tokens
  }
  return { uncached: total - covered, cacheRead, cacheWrite5m: written['5m'], cacheWrite1h: written['1h'] }
}

function countImplicit(prefixes: Prefix[], seen: Set<string>, total: number): InputCount {
  const longest = longestSeen(prefixes, seen)
  const cacheRead =
    longest < IMPLICIT_FROM ? 0 : Math.floor(Math.min(longest, total - 1) / IMPLICIT_BLOCK) * IMPLICIT_BLOCK
  return { uncached: total - cacheRead, cacheRead, cacheWrite5m: 0, cacheWrite1h: 0 }
}

function longestSeen(prefixes: Prefix[], seen: Set<string>): number {
  return prefixes.findLast(prefix => seen.has(prefix.key))?.tokens ?? 0
}

function remember(seen: Set<string>, key: string): void {
  seen.delete(key)
  seen.add(key)
  dropOldest(seen, REMEMBERED_PREFIXES)
}

function tokensOf(segment: Segment): number {
  return Math.ceil(Buffer.byteLength(segment.text) / 4) + segment.media * MEDIA_TOKENS
}
