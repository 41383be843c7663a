import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { decodeUsage, encodeUsage } from '@/formats/openai-chat-completions/answer/usage.ts'
import { inputTokens, NO_USAGE, outputTokens } from '@/generation/usage.ts'

const count = fc.nat({ max: 1_000_000 })

describe('edge 81: usage of every vendor', () => {
  test.each([
    ['nothing told apart', { prompt_tokens: 10, completion_tokens: 4 }, { inputUncached: 10, outputText: 4 }],
    [
      'OpenAI',
      {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10, audio_tokens: 5 },
        completion_tokens_details: { reasoning_tokens: 30, audio_tokens: 8 },
      },
      {
        inputUncached: 25,
        cacheRead: 60,
        cacheWrite5m: 10,
        audioInput: 5,
        outputText: 12,
        reasoning: 30,
        audioOutput: 8,
      },
    ],
    [
      'OpenRouter, of a prompt of Gemini that was written to the cache and read from there at once',
      {
        prompt_tokens: 100,
        completion_tokens: 5,
        total_tokens: 105,
        prompt_tokens_details: { cached_tokens: 90, cache_write_tokens: 90 },
      },
      { cacheRead: 10, cacheWrite5m: 90, outputText: 5 },
    ],
    [
      'xAI, reasoning outside of completion',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 45,
        completion_tokens_details: { reasoning_tokens: 30 },
      },
      { inputUncached: 10, outputText: 5, reasoning: 30 },
    ],
    [
      'reasoning outside of completion, without a total',
      { prompt_tokens: 10, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 30 } },
      { inputUncached: 10, outputText: 5, reasoning: 30 },
    ],
    [
      'thoughts that only the total tells of, as gateways before Gemini do',
      { prompt_tokens: 20, completion_tokens: 424, total_tokens: 1016 },
      { inputUncached: 20, outputText: 424, reasoning: 572 },
    ],
    [
      'the same through a gateway that has a 0 for what it did not read',
      {
        prompt_tokens: 20,
        completion_tokens: 424,
        total_tokens: 1016,
        completion_tokens_details: { reasoning_tokens: 0 },
      },
      { inputUncached: 20, outputText: 424, reasoning: 572 },
    ],
    [
      'a cache outside of the prompt, which only the total tells of',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 1015,
        prompt_tokens_details: { cached_tokens: 1000 },
      },
      { inputUncached: 10, cacheRead: 1000, outputText: 5 },
    ],
    [
      'the sound of a prompt outside of it, as Mistral counts',
      {
        prompt_tokens: 11,
        completion_tokens: 15,
        total_tokens: 401,
        prompt_tokens_details: { audio_tokens: 375, cached_tokens: 9 },
      },
      { inputUncached: 2, cacheRead: 9, audioInput: 375, outputText: 15 },
    ],
    [
      'the same, told by its seconds alone',
      { prompt_tokens: 11, completion_tokens: 15, total_tokens: 401, prompt_audio_seconds: 30 },
      { inputUncached: 11, audioInput: 375, outputText: 15 },
    ],
    [
      'the same, and thoughts outside of the answer',
      {
        prompt_tokens: 11,
        completion_tokens: 15,
        total_tokens: 431,
        prompt_tokens_details: { audio_tokens: 375, cached_tokens: 9 },
        completion_tokens_details: { reasoning_tokens: 30 },
      },
      { inputUncached: 2, cacheRead: 9, audioInput: 375, outputText: 15, reasoning: 30 },
    ],
    [
      'thoughts outside of the answer, where sound and cache are within the prompt',
      {
        prompt_tokens: 400,
        completion_tokens: 15,
        total_tokens: 445,
        prompt_tokens_details: { audio_tokens: 300, cached_tokens: 9 },
        completion_tokens_details: { reasoning_tokens: 30 },
      },
      { inputUncached: 91, cacheRead: 9, audioInput: 300, outputText: 15, reasoning: 30 },
    ],
    [
      'a total of more than thoughts that are told, and within the answer',
      {
        prompt_tokens: 20,
        completion_tokens: 50,
        total_tokens: 1070,
        completion_tokens_details: { reasoning_tokens: 30 },
      },
      { inputUncached: 20, outputText: 20, reasoning: 30 },
    ],
    [
      'a total of thoughts outside of the answer and of what else, as gateways before Gemini with tools of its own have it',
      {
        prompt_tokens: 20,
        completion_tokens: 5,
        total_tokens: 155,
        completion_tokens_details: { reasoning_tokens: 30 },
      },
      { inputUncached: 20, outputText: 5, reasoning: 30 },
    ],
    [
      'thoughts outside of the answer, and a cache outside of the prompt',
      {
        prompt_tokens: 10,
        completion_tokens: 50,
        total_tokens: 190,
        prompt_tokens_details: { cached_tokens: 100 },
        completion_tokens_details: { reasoning_tokens: 30 },
      },
      { inputUncached: 10, cacheRead: 100, outputText: 50, reasoning: 30 },
    ],
    [
      'a total that cannot be',
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 1e12 },
      { inputUncached: 10, outputText: 5 },
    ],
    [
      'DeepSeek',
      { prompt_tokens: 10, completion_tokens: 1, prompt_cache_hit_tokens: 8, prompt_cache_miss_tokens: 2 },
      { inputUncached: 2, cacheRead: 8, outputText: 1 },
    ],
    [
      'hits and misses without their sum',
      { completion_tokens: 1, prompt_cache_hit_tokens: 8, prompt_cache_miss_tokens: 2 },
      { inputUncached: 2, cacheRead: 8, outputText: 1 },
    ],
    [
      'Moonshot',
      { prompt_tokens: 10, completion_tokens: 1, cached_tokens: 4 },
      { inputUncached: 6, cacheRead: 4, outputText: 1 },
    ],
    [
      'Mistral',
      { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11, num_cached_tokens: 4 },
      { inputUncached: 6, cacheRead: 4, outputText: 1 },
    ],
    [
      'Mistral, in details by a name of its own',
      { prompt_tokens: 10, completion_tokens: 1, prompt_token_details: { cached_tokens: 4 } },
      { inputUncached: 6, cacheRead: 4, outputText: 1 },
    ],
    [
      'Alibaba, of a cache that was asked for',
      {
        prompt_tokens: 10,
        completion_tokens: 1,
        prompt_tokens_details: { cached_tokens: 3, cache_creation_input_tokens: 4, cache_type: 'ephemeral' },
      },
      { inputUncached: 3, cacheRead: 3, cacheWrite5m: 4, outputText: 1 },
    ],
    [
      'LiteLLM, of caches for both times',
      {
        prompt_tokens: 10,
        completion_tokens: 1,
        prompt_tokens_details: {
          cached_tokens: 3,
          cache_creation_tokens: 5,
          cache_creation_token_details: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 2 },
        },
      },
      { inputUncached: 2, cacheRead: 3, cacheWrite5m: 3, cacheWrite1h: 2, outputText: 1 },
    ],
    [
      'new-api, of the same',
      {
        prompt_tokens: 10,
        completion_tokens: 1,
        prompt_tokens_details: { cached_tokens: 3, cached_creation_tokens: 5, text_tokens: 0 },
        claude_cache_creation_5_m_tokens: 3,
        claude_cache_creation_1_h_tokens: 2,
      },
      { inputUncached: 2, cacheRead: 3, cacheWrite5m: 3, cacheWrite1h: 2, outputText: 1 },
    ],
    [
      'more cached than there is',
      { prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 12 } },
      { inputUncached: 0, cacheRead: 10, outputText: 1 },
    ],
    [
      'more reasoning than there is',
      {
        prompt_tokens: 1,
        completion_tokens: 5,
        total_tokens: 6,
        completion_tokens_details: { reasoning_tokens: 9 },
      },
      { inputUncached: 1, outputText: 0, reasoning: 5 },
    ],
    ['all zero', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, {}],
    [
      'negative, broken, null',
      { prompt_tokens: -3, completion_tokens: 1.5, prompt_tokens_details: null },
      { outputText: 1 },
    ],
    ['huge', { prompt_tokens: 1e300, completion_tokens: 0 }, { inputUncached: Number.MAX_SAFE_INTEGER }],
    [
      'searches',
      { prompt_tokens: 1, num_search_queries: 2 },
      { inputUncached: 1, serverTools: { web_search: 2 } },
    ],
    [
      'searches at OpenRouter',
      { prompt_tokens: 1, server_tool_use_details: { web_search_requests: 3 } },
      { inputUncached: 1, serverTools: { web_search: 3 } },
    ],
    [
      'searches at OpenRouter, as it called them before',
      { prompt_tokens: 1, server_tool_use: { web_search_requests: 3 } },
      { inputUncached: 1, serverTools: { web_search: 3 } },
    ],
  ])('%s', (_name, usage, expected) => {
    expect(decodeUsage(usage)).toEqual({ ...NO_USAGE, ...expected })
  })
})

test('the buckets sum to the totals of the vendor, whatever the details say', () => {
  fc.assert(
    fc.property(
      count,
      count,
      count,
      count,
      count,
      count,
      (prompt, completion, cached, write, audio, reasoning) => {
        const usage = decodeUsage({
          prompt_tokens: prompt,
          completion_tokens: completion,
          total_tokens: prompt + completion,
          prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: write, audio_tokens: audio },
          completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: audio },
        })
        expect(inputTokens(usage)).toBe(prompt)
        expect(outputTokens(usage)).toBe(completion)
        expect(Object.values(usage).every(value => typeof value !== 'number' || value >= 0)).toBe(true)
      },
    ),
  )
})

test('edge 82: what is written reads the same again, a long cache lifetime as a short one', () => {
  const usage = fc.record({
    inputUncached: count,
    cacheRead: count,
    cacheWrite5m: count,
    outputText: count,
    reasoning: count,
    audioInput: count,
    audioOutput: count,
  })
  fc.assert(
    fc.property(usage, count, (buckets, cacheWrite1h) => {
      const known = { ...NO_USAGE, ...buckets }
      expect(decodeUsage(encodeUsage({ ...known, cacheWrite1h }))).toEqual({
        ...known,
        cacheWrite5m: known.cacheWrite5m + cacheWrite1h,
      })
    }),
  )
})

test('prompt_tokens include what was read from and written to a cache', () => {
  const usage = {
    ...NO_USAGE,
    inputUncached: 5,
    cacheRead: 100,
    cacheWrite5m: 20,
    cacheWrite1h: 3,
    outputText: 7,
    reasoning: 2,
  }
  expect(encodeUsage(usage)).toMatchObject({
    prompt_tokens: 128,
    completion_tokens: 9,
    total_tokens: 137,
    prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 23 },
    completion_tokens_details: { reasoning_tokens: 2 },
  })
})
