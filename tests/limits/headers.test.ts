import { expect, test } from 'bun:test'
import type { LimitState } from '@/limits/answer.ts'
import { limitHeaders, openaiDuration, retryAfterSeconds } from '@/limits/headers.ts'

const LIMITS: readonly LimitState[] = [
  { scope: 'key', kind: 'requests', limit: 600, remaining: 599, resetMs: 100 },
  { scope: 'account', kind: 'requests', limit: 900, remaining: 12, resetMs: 59_200 },
  { scope: 'key', kind: 'tokens', limit: 2_000_000, remaining: 1_500_000, resetMs: 15_000 },
  { scope: 'account', kind: 'tokens', limit: 1_500_000, remaining: 1_500_000, resetMs: 0 },
  { scope: 'key', kind: 'concurrent', limit: 100, remaining: 3, resetMs: 0 },
]
const NOW = Date.parse('2026-03-01T12:00:00.250Z')

test.each(['chat', 'responses', 'embeddings', 'images', 'videos', 'audio'] as const)(
  "tells the tightest limits in OpenAI's names on %s",
  surface => {
    expect(limitHeaders(surface, LIMITS, NOW)).toMatchObject({
      'x-ratelimit-limit-requests': '900',
      'x-ratelimit-remaining-requests': '12',
      'x-ratelimit-reset-requests': '59.2s',
      'x-ratelimit-limit-tokens': '1500000',
      'x-ratelimit-remaining-tokens': '1500000',
      'x-ratelimit-reset-tokens': '0s',
    })
  },
)

test("tells them in Anthropic's names, with instants, on messages", () => {
  const headers = limitHeaders('messages', LIMITS, NOW)
  expect(headers).toMatchObject({
    'anthropic-ratelimit-requests-limit': '900',
    'anthropic-ratelimit-requests-remaining': '12',
    'anthropic-ratelimit-requests-reset': '2026-03-01T12:01:00Z',
    'anthropic-ratelimit-tokens-limit': '1500000',
    'anthropic-ratelimit-tokens-remaining': '1500000',
    'anthropic-ratelimit-tokens-reset': '2026-03-01T12:00:01Z',
  })
  expect(Object.keys(headers).filter(name => name.startsWith('x-'))).toEqual([])
})

test('tells them by the IETF draft on every surface, and by nothing else on gemini', () => {
  expect(limitHeaders('gemini', LIMITS, NOW)).toEqual({
    'ratelimit-policy':
      '"account-requests";q=900;w=60, "account-tokens";q=1500000;qu="tokens";w=60, ' +
      '"key-concurrent";q=100;qu="concurrent-requests"',
    ratelimit: '"account-requests";r=12;t=60, "account-tokens";r=1500000;t=0, "key-concurrent";r=3',
  })
})

test('of two limits with as much left tells the smaller one, whichever comes first', () => {
  const [large, small] = [900, 600].map(limit => ({
    scope: 'key' as const,
    kind: 'requests' as const,
    limit,
    remaining: 5,
    resetMs: 0,
  }))
  if (large === undefined || small === undefined) throw new Error('two limits')
  for (const limits of [
    [large, small],
    [small, large],
  ]) {
    expect(limitHeaders('chat', limits, NOW)['x-ratelimit-limit-requests']).toBe('600')
  }
})

test('tells nothing where nothing is limited', () => {
  expect(limitHeaders('chat', [], NOW)).toEqual({})
})

test.each([
  [0, '0s'],
  [2, '2ms'],
  [999, '999ms'],
  [1_000, '1s'],
  [8_640, '8.64s'],
  [59_999, '59.999s'],
  [90_000, '1m30s'],
  [360_000, '6m0s'],
  [3_599_000, '59m59s'],
  [3_600_000, '1h0m0s'],
  [3_660_500, '1h1m0.5s'],
  [21_600_000, '6h0m0s'],
])('writes %d ms as OpenAI does: %s', (ms, text) => {
  expect(openaiDuration(ms)).toBe(text)
})

test.each([
  [0, 0, 1],
  [1, 0.5, 1],
  [1_001, 0, 2],
  [20_000, 0, 20],
  [20_000, 0.999, 22],
])('rounds a wait of %d ms up to seconds, with jitter %d: %d', (ms, random, seconds) => {
  expect(retryAfterSeconds(ms, random)).toBe(seconds)
})
