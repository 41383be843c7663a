import { cachedIn, cacheWrites, restOf, servedTier } from '@/formats/openai/shared-fields.ts'
import {
  type CountNames,
  inputTokens,
  outputTokens,
  readReport,
  type Usage,
  untoldTokens,
  wholeCount,
} from '@/generation/usage.ts'
import { asArray, asNumber, asObject, type JsonObject } from '@/json/json.ts'

/** The usage that a response object tells; undefined for a report that is none. */
export function usageOf(response: JsonObject): Usage | undefined {
  return readReport(asObject(response['usage']), COUNTS, wire => ({
    ...decodeUsage(wire),
    serverTools: serverTools(response),
  }))
}

/** Its totals include what was cached and what was reasoned. */
function decodeUsage(wire: JsonObject): Omit<Usage, 'serverTools'> {
  const told = {
    input: wholeCount(wire['input_tokens'] ?? restOf(wire, 'output_tokens')),
    output: wholeCount(wire['output_tokens'] ?? restOf(wire, 'input_tokens')),
  }
  const details = asObject(wire['input_tokens_details'])
  const cached = wholeCount(details?.['cached_tokens'])
  const written = cacheWrites(wire, details)
  const thought = wholeCount(asObject(wire['output_tokens_details'])?.['reasoning_tokens'])
  const untold = untoldTokens(wire['total_tokens'], {
    ...told,
    cached: cached + written.all,
    audio: 0,
    thought,
  })
  const input = told.input + untold.input
  const output = told.output + untold.output
  const inCache = cachedIn(input, cached, written)
  const reasoning = Math.min(Math.max(thought, untold.output), output)
  return {
    inputUncached: input - inCache.cacheRead - inCache.cacheWrite5m - inCache.cacheWrite1h,
    ...inCache,
    outputText: output - reasoning,
    reasoning,
    audioInput: 0,
    audioOutput: 0,
  }
}

const COUNTS = {
  input: ['input_tokens'],
  output: ['output_tokens'],
  total: 'total_tokens',
} satisfies CountNames

/**
 * The tier that served the answer; undefined for the ordinary one. A stream begins by saying `auto` and ends by
 * saying `default`, which both mean it.
 */
export function serviceTierOf(response: JsonObject): string | undefined {
  const tier = servedTier(response)
  return tier === 'auto' || tier === 'default' ? undefined : tier
}

/** Usage as a response object has it; `null` while there is none. */
export function encodeUsage(usage: Usage | undefined): JsonObject | null {
  if (usage === undefined) return null
  const input = inputTokens(usage)
  const output = outputTokens(usage)
  const written = usage.cacheWrite5m + usage.cacheWrite1h
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: written,
      ...(written === 0
        ? {}
        : {
            cache_write_tokens_details: {
              ttl_30m_tokens: usage.cacheWrite5m,
              ttl_12h_tokens: usage.cacheWrite1h,
            },
          }),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + output,
  }
}

/** `tool_usage`, which counts searches; undefined where there were none. Its types have the images whenever it is there. */
export function encodeToolUsage(usage: Usage | undefined): JsonObject | undefined {
  const searches = usage?.serverTools['web_search']
  if (searches === undefined) return undefined
  const noTokens = {
    input_tokens: 0,
    input_tokens_details: { image_tokens: 0, text_tokens: 0 },
    output_tokens: 0,
    total_tokens: 0,
  }
  return { image_gen: noTokens, web_search: { num_requests: searches } }
}

/** Output items that are calls which the vendor ran, with the vendor's name of the tool. */
const SERVER_CALLS: Readonly<Record<string, string>> = {
  web_search_call: 'web_search',
  file_search_call: 'file_search',
  code_interpreter_call: 'code_interpreter',
  image_generation_call: 'image_generation',
  mcp_call: 'mcp',
}

function serverTools(response: JsonObject): Record<string, number> {
  return billedCalls(response) ?? countedCalls(response)
}

/**
 * What xAI says it bills. Among its items are calls that failed, too, and a search of X is several calls of no kind of their
 * own: https://docs.x.ai/developers/tools/tool-usage-details
 */
function billedCalls({ usage }: JsonObject): Record<string, number> | undefined {
  const details = asObject(asObject(usage)?.['server_side_tool_usage_details'])
  if (details === undefined) return undefined
  const calls: Record<string, number> = {}
  for (const [name, count] of Object.entries(details)) {
    if (name.endsWith('_calls') && wholeCount(count) > 0)
      calls[name.slice(0, -'_calls'.length)] = wholeCount(count)
  }
  return calls
}

function countedCalls(response: JsonObject): Record<string, number> {
  const calls: Record<string, number> = {}
  for (const item of asArray(response['output'])) {
    const name = SERVER_CALLS[String(asObject(item)?.['type'])]
    if (name !== undefined) calls[name] = (calls[name] ?? 0) + 1
  }
  // The count of billable searches, where it is given: opening a page is a call, too, but free.
  const searches = asObject(asObject(response['tool_usage'])?.['web_search'])?.['num_requests']
  if (asNumber(searches) !== undefined) {
    delete calls['web_search']
    if (wholeCount(searches) > 0) calls['web_search'] = wholeCount(searches)
  }
  return calls
}
