import type { JsonObject, JsonValue } from '@/json/json.ts'

/**
 * What a generation used, in disjoint buckets: no token is in two of them, so they can be priced one by one and
 * their sum is the vendor's total. Every format's arithmetic into and out of it is in that format's `usage.ts`.
 */
export interface Usage {
  /** Prompt tokens that came from no cache and were written to none; audio tokens not included. */
  inputUncached: number
  /** Prompt tokens read from the vendor's prompt cache. */
  cacheRead: number
  /** Prompt tokens written to a cache with the short lifetime (5 minutes at Anthropic; the only kind elsewhere). */
  cacheWrite5m: number
  /** Prompt tokens written to a cache with the long lifetime (1 hour). */
  cacheWrite1h: number
  /** Tokens of the answer that are neither reasoning nor audio (tool calls included). */
  outputText: number
  /** Tokens spent thinking, where the vendor tells them apart; else 0 and they are inside `outputText`. */
  reasoning: number
  /** Audio tokens of the prompt. */
  audioInput: number
  /** Audio tokens of the answer. */
  audioOutput: number
  /** Calls of tools that the vendor's own server ran, by the vendor's name of the tool (`web_search`). */
  serverTools: Readonly<Record<string, number>>
}

/** Usage with every bucket at zero. */
export const NO_USAGE: Usage = {
  inputUncached: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  outputText: 0,
  reasoning: 0,
  audioInput: 0,
  audioOutput: 0,
  serverTools: {},
}

/** All prompt tokens, however they were served. */
export function inputTokens(usage: Usage): number {
  return usage.inputUncached + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h + usage.audioInput
}

/** All tokens of the answer, reasoning and audio included. */
export function outputTokens(usage: Usage): number {
  return usage.outputText + usage.reasoning + usage.audioOutput
}

/**
 * The most that a count of anything can be: three times what any model reads, and so small that the ledger has a number
 * for the cost at the dearest rates (rates.ts). A vendor's number beyond it, or below zero, is a fault and no count.
 */
export const MOST_COUNT = 2 ** 25

/** The most that a number of seconds of sound or video can be. */
export const MOST_SECONDS = 100_000

/** A vendor's number, if it can be a count of something that was used. */
export function readCount(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= MOST_COUNT ? value : undefined
}

/** A vendor's number as whole tokens, exact as a double; 0 if it is none. */
export function wholeCount(value: JsonValue | undefined): number {
  if (typeof value !== 'number' || !(value > 0)) return 0
  return Math.min(Math.floor(value), Number.MAX_SAFE_INTEGER)
}

/** A vendor's number of seconds, if it can be one. */
export function readSeconds(value: JsonValue | undefined): number | undefined {
  const seconds = readCount(value)
  return seconds !== undefined && seconds <= MOST_SECONDS ? seconds : undefined
}

/** What a format calls its counts. */
export interface CountNames {
  input: readonly string[]
  output: readonly string[]
  /** Of both sides together; looked at where it stands for one of them. */
  total?: string
  /** Of what a side may have beside these. */
  beside?: readonly string[]
}

/**
 * What a vendor's report says of usage, if it is to be believed: both sides are told, one perhaps by the total (null is no
 * zero), and no count that is there is impossible. A report that is not is none: what was used is counted here instead. A
 * count that is no number (a text, say) is impossible, too; taken for none, as one that is missing, it would make that side
 * of the answer free. A side that adds up to more than a count can be is impossible as well, whatever its parts are.
 * @param decode reads the counts as they stand
 */
export function readReport(
  wire: JsonObject | undefined,
  names: CountNames,
  decode: (wire: JsonObject) => Usage,
): Usage | undefined {
  if (wire === undefined || !isReport(wire, names)) return undefined
  const usage = decode(wire)
  return inputTokens(usage) <= MOST_COUNT && outputTokens(usage) <= MOST_COUNT ? usage : undefined
}

function isReport(wire: JsonObject, { input, output, total, beside = [] }: CountNames): boolean {
  const sides = [standingOf(wire, input), standingOf(wire, output)]
  if (sides.includes('impossible') || standingOf(wire, beside) === 'impossible') return false
  if (!sides.includes('untold')) return true
  return sides.includes('told') && standingOf(wire, [total]) === 'told'
}

function standingOf(
  wire: JsonObject,
  names: readonly (string | undefined)[],
): 'told' | 'untold' | 'impossible' {
  let standing: 'told' | 'untold' = 'untold'
  for (const name of names) {
    const count = name === undefined ? undefined : wire[name]
    if (count === undefined || count === null) continue
    if (readCount(count) === undefined) return 'impossible'
    standing = 'told'
  }
  return standing
}

/** What a vendor tells of both sides of a generation beside a total. */
interface ToldCounts {
  input: number
  output: number
  cached: number
  audio: number
  /** 0 says nothing: many a gateway has it for what it did not read. */
  thought: number
}

/**
 * Tokens that only a total tells of, beyond both sides: xAI counts thoughts outside of the answer; outside of the
 * prompt, Mistral its sound and sellers of Anthropic's models the cache. Many a gateway before Gemini tells thoughts by
 * the total alone (https://github.com/mozilla-ai/any-llm/issues/1290). What a total has beyond all of these nobody
 * explains: it is not counted.
 */
export function untoldTokens(
  total: JsonValue | undefined,
  { input, output, cached, audio, thought }: ToldCounts,
): { input: number; output: number } {
  const rest = Math.max(0, Math.floor(readCount(total) ?? 0) - input - output)
  const asked = [0, cached, audio, cached + audio]
  const outside = asked.includes(rest) ? rest : 0
  if (thought === 0) return { input: outside, output: rest - outside }
  const besideThought = asked.find(count => rest === count + thought)
  if (besideThought !== undefined) return { input: besideThought, output: thought }
  // More thoughts than there is answer cannot be within it.
  if (thought > output) return { input: 0, output: Math.min(rest, thought) }
  return { input: outside, output: 0 }
}

/** The usage in whole tokens: what a vendor counts in fractions is not charged as such. */
export function wholeCounts(usage: Usage): Usage {
  return {
    inputUncached: whole(usage.inputUncached),
    cacheRead: whole(usage.cacheRead),
    cacheWrite5m: whole(usage.cacheWrite5m),
    cacheWrite1h: whole(usage.cacheWrite1h),
    outputText: whole(usage.outputText),
    reasoning: whole(usage.reasoning),
    audioInput: whole(usage.audioInput),
    audioOutput: whole(usage.audioOutput),
    serverTools: usage.serverTools,
  }
}

function whole(count: number): number {
  return Math.max(0, Math.ceil(count))
}
