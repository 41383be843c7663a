import { cachedIn, cacheWrites, restOf } from '@/formats/openai/shared-fields.ts'
import type { CompletionUsage } from '@/formats/openai-chat-completions/wire.ts'
import {
  type CountNames,
  inputTokens,
  outputTokens,
  readReport,
  type Usage,
  untoldTokens,
  wholeCount,
} from '@/generation/usage.ts'
import { asNumber, asObject, type JsonObject } from '@/json/json.ts'

/**
 * Reads usage into disjoint buckets. The totals are trusted over their breakdown: a detail larger
 * than what is left of its total is clamped, so that no token is counted twice.
 */
export function decodeUsage(usage: JsonObject): Usage {
  const counts = readCounts(usage)
  return { ...decodeInput(counts), ...decodeOutput(usage, counts), serverTools: serverTools(usage) }
}

/** As `decodeUsage`; undefined for a report that is none. */
export function readUsage(usage: JsonObject | undefined): Usage | undefined {
  return readReport(usage, COUNTS, decodeUsage)
}

/** What Chat's `usage` calls its counts. */
export const COUNTS = {
  input: ['prompt_tokens', 'prompt_cache_miss_tokens'],
  output: ['completion_tokens'],
  total: 'total_tokens',
} satisfies CountNames

/** What the fields say, wherever a vendor has them. */
interface Counts {
  prompt: number
  cacheHits: number
  written: { all: number; long: number }
  audio: number
  completion: number
  thought: number
  /** What only the total tells of. */
  untold: { input: number; output: number }
}

/**
 * DeepSeek splits the prompt into hits and misses; Moonshot and Mistral put the count of hits at the top, and Mistral has
 * another name for the details as well.
 */
function readCounts(usage: JsonObject): Counts {
  const input = asObject(usage['prompt_tokens_details'] ?? usage['prompt_token_details'])
  const output = asObject(usage['completion_tokens_details'])
  const cacheHits = wholeCount(
    input?.['cached_tokens'] ??
      usage['prompt_cache_hit_tokens'] ??
      usage['cached_tokens'] ??
      usage['num_cached_tokens'],
  )
  const written = cacheWrites(usage, input)
  const prompt = wholeCount(
    usage['prompt_tokens'] ?? splitPrompt(usage, cacheHits) ?? restOf(usage, 'completion_tokens'),
  )
  const completion = wholeCount(usage['completion_tokens'] ?? restOf(usage, 'prompt_tokens'))
  const thought = wholeCount(output?.['reasoning_tokens'] ?? usage['reasoning_tokens'])
  const audio = wholeCount(input?.['audio_tokens'] ?? untoldSound(usage, prompt + completion + thought))
  const told = { input: prompt, output: completion, cached: cacheHits + written.all, audio, thought }
  const untold = untoldTokens(usage['total_tokens'], told)
  return { prompt, cacheHits, written, audio, completion, thought, untold }
}

/** Mistral may tell of a prompt's sound by its seconds and by the total alone. */
function untoldSound(usage: JsonObject, others: number): number {
  const seconds = asNumber(usage['prompt_audio_seconds']) ?? 0
  return seconds > 0 ? wholeCount(usage['total_tokens']) - others : 0
}

function decodeInput({ prompt, cacheHits, written, audio, untold }: Counts) {
  const total = prompt + untold.input
  const cached = cachedIn(total, cacheHits, written)
  const uncached = total - cached.cacheRead - cached.cacheWrite5m - cached.cacheWrite1h
  const audioInput = Math.min(audio, uncached)
  return { inputUncached: uncached - audioInput, ...cached, audioInput }
}

function decodeOutput(usage: JsonObject, { completion, thought: told, untold }: Counts) {
  const details = asObject(usage['completion_tokens_details'])
  const thought = Math.max(told, untold.output)
  const isOutside = typeof usage['total_tokens'] !== 'number' && thought > completion
  const total = completion + (isOutside ? thought : untold.output)
  const reasoning = Math.min(thought, total)
  const audioOutput = Math.min(wholeCount(details?.['audio_tokens']), total - reasoning)
  return { outputText: total - reasoning - audioOutput, reasoning, audioOutput }
}

function splitPrompt(usage: JsonObject, hits: number): number | undefined {
  const misses = asNumber(usage['prompt_cache_miss_tokens'])
  return misses === undefined ? undefined : hits + wholeCount(misses)
}

/** Searches of the web: OpenRouter has had two names for what holds their number, Perplexity has it at the top. */
function serverTools(usage: JsonObject): Readonly<Record<string, number>> {
  const counts = asObject(usage['server_tool_use_details'] ?? usage['server_tool_use'])
  const searches = wholeCount(counts?.['web_search_requests'] ?? usage['num_search_queries'])
  return searches === 0 ? NO_SERVER_TOOLS : { web_search: searches }
}

const NO_SERVER_TOOLS: Readonly<Record<string, number>> = {}

/** Writes usage with OpenAI's totals, which include cache, reasoning and audio. */
export function encodeUsage(usage: Usage): JsonObject {
  const prompt = inputTokens(usage)
  const completion = outputTokens(usage)
  const writes = usage.cacheWrite5m + usage.cacheWrite1h
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: usage.cacheRead,
      audio_tokens: usage.audioInput,
      ...(writes > 0 ? { cache_write_tokens: writes } : {}),
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      audio_tokens: usage.audioOutput,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  } satisfies CompletionUsage
}
