import { expect, test } from 'bun:test'
import { decodeUsage as decodeMessages } from '@/formats/anthropic-messages/answer/usage.ts'
import { decodeUsage as decodeGemini } from '@/formats/gemini-generate-content/answer/usage.ts'
import { decodeUsage as decodeChat } from '@/formats/openai-chat-completions/answer/usage.ts'
import { usageOf as decodeResponses } from '@/formats/openai-responses/answer/usage.ts'
import { readPrices } from '@/generation/rate-text.ts'
import { NO_USAGE, type Usage } from '@/generation/usage.ts'
import { costOf, roundUp } from '@/pricing/cost.ts'

/** Bills worked out by hand: what each vendor reports, at prices that it publishes. */
const LONG_CONTEXT = {
  input: '10',
  cached_input: '1',
  cache_write_5m: '12.5',
  output: '50',
  tiers: [
    { above_input_tokens: 271_999, input: '20', cached_input: '2', cache_write_5m: '25', output: '75' },
  ],
}
const OPUS = { input: '4', cached_input: '0.2', cache_write_5m: '5', cache_write_1h: '8', output: '20' }

test.each<[string, Usage | undefined, Parameters<typeof readPrices>[0], bigint]>([
  [
    // 86 * 1.25 + 1920 * 0.125 + 300 * 10 = 3,347.5 millionths
    'chat: cached tokens are inside the prompt, reasoning inside the answer',
    decodeChat({
      prompt_tokens: 2006,
      completion_tokens: 300,
      total_tokens: 2306,
      prompt_tokens_details: { cached_tokens: 1920 },
      completion_tokens_details: { reasoning_tokens: 128 },
    }),
    { input: '1.25', cached_input: '0.125', output: '10' },
    3_347_500n,
  ],
  [
    // 40 * 2.5 + 60 * 32 + 10 * 10 + 90 * 64 = 7,880
    'chat: audio is inside both totals and priced apart',
    decodeChat({
      prompt_tokens: 100,
      completion_tokens: 100,
      total_tokens: 200,
      prompt_tokens_details: { audio_tokens: 60 },
      completion_tokens_details: { audio_tokens: 90 },
    }),
    { input: '2.5', output: '10', input_audio: '32', output_audio: '64' },
    7_880_000n,
  ],
  [
    // 150,000 * 20 + 100,000 * 2 + 50,000 * 25 + 1,000 * 75 = 4,525,000
    'responses: a long prompt is in the tier as a whole, writes are inside the input',
    decodeResponses({
      usage: {
        input_tokens: 300_000,
        input_tokens_details: { cached_tokens: 100_000, cache_write_tokens: 50_000 },
        output_tokens: 1_000,
        output_tokens_details: { reasoning_tokens: 800 },
        total_tokens: 301_000,
      },
    }),
    LONG_CONTEXT,
    4_525_000_000n,
  ],
  [
    // 271,999 * 10 + 1 * 50 = 2,720,040
    'responses: one token less is not',
    decodeResponses({ usage: { input_tokens: 271_999, output_tokens: 1, total_tokens: 272_000 } }),
    LONG_CONTEXT,
    2_720_040_000n,
  ],
  [
    // 12 * 4 + 18,000 * 0.2 + 1,000 * 5 + 2,000 * 8 + 400 * 20 = 32,648
    'messages: reads and both kinds of writes are beside the input',
    decodeMessages({
      input_tokens: 12,
      cache_read_input_tokens: 18_000,
      cache_creation_input_tokens: 3_000,
      cache_creation: { ephemeral_5m_input_tokens: 1_000, ephemeral_1h_input_tokens: 2_000 },
      output_tokens: 400,
    }),
    OPUS,
    32_648_000n,
  ],
  [
    // 5 * 4 + 3,000 * 5 = 15,020
    'messages: writes without a lifetime are of the short kind',
    decodeMessages({ input_tokens: 5, cache_creation_input_tokens: 3_000, output_tokens: 0 }),
    OPUS,
    15_020_000n,
  ],
  [
    // 600 * 0.25 + 400 * 0.025 + 500 * 0.5 + 150 * 1.5 = 635
    'gemini: cached and audio are inside the prompt, thoughts beside the answer',
    decodeGemini({
      promptTokenCount: 1_500,
      cachedContentTokenCount: 400,
      candidatesTokenCount: 100,
      thoughtsTokenCount: 50,
      totalTokenCount: 1_650,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 1_000 },
        { modality: 'AUDIO', tokenCount: 500 },
      ],
    }),
    { input: '0.25', cached_input: '0.025', input_audio: '0.5', output: '1.5' },
    635_000n,
  ],
  [
    // 18.75 nano
    'one token that costs less than whole nanos is rounded up',
    decodeGemini({ promptTokenCount: 1, totalTokenCount: 1 }),
    { input: '0.01875' },
    19n,
  ],
  [
    // 3 * 18.75 = 56.25 nano, not 3 * 19
    'rounded once for the request, not for each token',
    decodeGemini({ promptTokenCount: 3, totalTokenCount: 3 }),
    { input: '0.01875' },
    57n,
  ],
  ['an explicit zero costs nothing', decodeChat({ prompt_tokens: 0, completion_tokens: 0 }), OPUS, 0n],
])('%s', (_, usage, prices, nano) => {
  expect(roundUp(costOf(usage ?? NO_USAGE, readPrices(prices)).pico)).toBe(nano)
})
