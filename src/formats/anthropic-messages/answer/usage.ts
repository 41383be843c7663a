import { replyTier } from '@/formats/anthropic-messages/reply.ts'
import type { MessageDeltaUsage, MessageUsage, ServerToolUsage } from '@/formats/anthropic-messages/wire.ts'
import { type CountNames, outputTokens, readReport, type Usage, wholeCount } from '@/generation/usage.ts'
import { asObject, asObjects, asString, type JsonObject } from '@/json/json.ts'

/**
 * Anthropic's counts into disjoint buckets. `input_tokens` excludes what was read from and written to the cache;
 * `output_tokens` includes thinking. Missing and null counts are 0; so is anything below it.
 */
export function decodeUsage(wire: JsonObject): Usage {
  return asObjects(wire['iterations'])
    .filter(isBesideTotals)
    .map(decodeCounts)
    .reduce(plus, decodeCounts(wire))
}

/**
 * Whether the tokens of one of the calls that made an answer are beside the totals: of a conversation's compaction and of
 * an adviser (https://platform.claude.com/docs/en/build-with-claude/compaction). The others' are inside.
 */
function isBesideTotals({ type }: JsonObject): boolean {
  return type === 'compaction' || type === 'advisor_message'
}

function plus(one: Usage, other: Usage): Usage {
  return {
    ...one,
    inputUncached: one.inputUncached + other.inputUncached,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite5m: one.cacheWrite5m + other.cacheWrite5m,
    cacheWrite1h: one.cacheWrite1h + other.cacheWrite1h,
    outputText: one.outputText + other.outputText,
    reasoning: one.reasoning + other.reasoning,
  }
}

function decodeCounts(wire: JsonObject): Usage {
  const output = wholeCount(wire['output_tokens'])
  const reasoning = Math.min(output, wholeCount(asObject(wire['output_tokens_details'])?.['thinking_tokens']))
  const { short, long } = cacheWrites(wire)
  return {
    inputUncached: wholeCount(wire['input_tokens']),
    cacheRead: wholeCount(wire['cache_read_input_tokens']),
    cacheWrite5m: short,
    cacheWrite1h: long,
    outputText: output - reasoning,
    reasoning,
    audioInput: 0,
    audioOutput: 0,
    serverTools: serverTools(asObject(wire['server_tool_use'])),
  }
}

/** As `decodeUsage`; undefined for a report that is none. */
export function readUsage(wire: JsonObject | undefined): Usage | undefined {
  return readReport(wire, COUNTS, decodeUsage)
}

/** The tier that served an answer with this usage: fast mode is one, though the API has it in a field of its own. */
export function tierIn(usage: JsonObject | undefined): string | undefined {
  return usage?.['speed'] === 'fast' ? 'fast' : asString(usage?.['service_tier'])
}

const COUNTS = {
  input: ['input_tokens'],
  output: ['output_tokens'],
  beside: ['cache_read_input_tokens', 'cache_creation_input_tokens'],
} satisfies CountNames

/** The SDKs' types have these whenever there is a count of server tools at all. */
const NO_SERVER_TOOLS: ServerToolUsage & Record<string, number> = {
  web_search_requests: 0,
  web_fetch_requests: 0,
}

/** The inverse, as a stream's end says it. Audio has no bucket of its own here and counts as plain tokens. */
export function encodeUsage(usage: Usage) {
  const tools = Object.entries(usage.serverTools)
  return {
    input_tokens: usage.inputUncached + usage.audioInput,
    cache_creation_input_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cacheWrite5m,
      ephemeral_1h_input_tokens: usage.cacheWrite1h,
    },
    output_tokens: outputTokens(usage),
    output_tokens_details: usage.reasoning > 0 ? { thinking_tokens: usage.reasoning } : null,
    server_tool_use: tools.length === 0 ? null : encodeServerTools(tools),
  } satisfies MessageDeltaUsage & JsonObject
}

function encodeServerTools(tools: [name: string, calls: number][]): typeof NO_SERVER_TOOLS {
  const counts = Object.fromEntries(tools.map(([name, calls]) => [`${name}_requests`, calls]))
  return { ...NO_SERVER_TOOLS, ...counts }
}

/** The usage of a message: with the tier, and with what only this vendor knows. */
export function encodeMessageUsage(usage: Usage, serviceTier: string | undefined) {
  return {
    ...encodeUsage(usage),
    ...NO_PLACE,
    service_tier: replyTier(serviceTier),
  } satisfies MessageUsage & JsonObject
}

const NO_PLACE = { inference_geo: null, speed: null }

/** The end of a stream whose usage nobody told; SDKs want the object. */
export const UNTOLD_USAGE = {
  input_tokens: null,
  cache_creation_input_tokens: null,
  cache_read_input_tokens: null,
  output_tokens: 0,
  output_tokens_details: null,
  server_tool_use: null,
} satisfies MessageDeltaUsage

/** Fields as they stand after an event that says more: what it names replaces, what it leaves null stays. */
export function overlay(known: JsonObject, later: JsonObject | undefined): JsonObject {
  const merged = { ...known }
  for (const [name, value] of Object.entries(later ?? {})) {
    if (value !== null && value !== undefined) merged[name] = value
  }
  return merged
}

/**
 * Usage as it stands after an event that says more. No prompt is empty: servers that write every field of their types say
 * 0 in the end for what they counted in the first event (https://github.com/envoyproxy/ai-gateway/pull/1631).
 */
export function overlayUsage(known: JsonObject, later: JsonObject): JsonObject {
  const merged = overlay(known, later)
  const isSilent = [...COUNTS.input, ...COUNTS.beside].every(name => (later[name] ?? 0) === 0)
  if (!isSilent) return merged
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, cache_creation } = known
  return overlay(merged, {
    input_tokens,
    cache_read_input_tokens,
    cache_creation_input_tokens,
    cache_creation,
  })
}

/** The total is what is billed; the split by lifetime is a later addition and fills in how it divides. */
function cacheWrites(wire: JsonObject): { short: number; long: number } {
  const split = asObject(wire['cache_creation'])
  const short = wholeCount(split?.['ephemeral_5m_input_tokens'])
  const long = wholeCount(split?.['ephemeral_1h_input_tokens'])
  const total = wholeCount(wire['cache_creation_input_tokens'])
  if (total === 0) return { short, long }
  return { short: total - Math.min(long, total), long: Math.min(long, total) }
}

/** `{web_search_requests: 2}` as `{web_search: 2}`. */
function serverTools(wire: JsonObject | undefined): Record<string, number> {
  const calls: Record<string, number> = {}
  for (const [name, value] of Object.entries(wire ?? {})) {
    if (name.endsWith('_requests') && wholeCount(value) > 0)
      calls[name.slice(0, -'_requests'.length)] = wholeCount(value)
  }
  return calls
}
