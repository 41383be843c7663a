import { describe, expect, test } from 'bun:test'
import { TARGETS, USUAL_HABITS } from '#tests/transcripts/conversion.ts'
import { nameLosses } from '@/formats/lowering/caller-words.ts'
import { lowerRequest } from '@/formats/lowering/lowering.ts'
import { openaiTier } from '@/formats/openai/shared-fields.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Format } from '@/generation/format.ts'
import type { JsonObject } from '@/json/json.ts'

const HINTS = { prompt_cache_retention: '24h', prompt_cache_options: { mode: 'explicit', ttl: '30m' } }
const CALLERS = {
  'openai-chat-completions': { messages: [{ role: 'user', content: 'hi' }] },
  'openai-responses': { input: 'hi' },
} as const satisfies Partial<Record<Format, JsonObject>>

function sent(from: keyof typeof CALLERS, to: Format, more: JsonObject, vendor = TARGETS[to].vendor) {
  const body = { ...CALLERS[from], ...more }
  const request = CODECS[from].decodeRequest(body, { model: 'm', stream: false })
  const { body: written, losses } = lowerRequest(
    request,
    CODECS[to],
    { ...TARGETS[to], vendor },
    USUAL_HABITS,
  )
  return { written, losses: nameLosses(losses, CODECS[from], body) }
}

describe("OpenAI's hints on its prompt cache", () => {
  test.each([
    ['openai-chat-completions', 'openai-responses'],
    ['openai-responses', 'openai-chat-completions'],
  ] as const)('go from %s to %s, which spells them alike', (from, to) => {
    expect(sent(from, to, HINTS)).toMatchObject({ written: HINTS, losses: [] })
  })

  test.each(['anthropic-messages', 'gemini-generate-content'] as const)('are losses at %s', to => {
    expect(sent('openai-chat-completions', to, HINTS).losses).toEqual(Object.keys(HINTS).sort())
    expect(sent('openai-responses', to, HINTS).losses).toEqual(Object.keys(HINTS).sort())
  })

  test('are losses at vendors of Chat that are not OpenAI', () => {
    const { written, losses } = sent('openai-responses', 'openai-chat-completions', HINTS, 'groq.com')
    expect(losses).toEqual(Object.keys(HINTS).sort())
    expect(Object.keys(written)).not.toContain('prompt_cache_retention')
  })

  test('are a loss where they name an answer that Chat never kept', () => {
    const options = { prompt_cache_options: { comparison_response_id: 'resp_1' } }
    const { written, losses } = sent('openai-responses', 'openai-chat-completions', options)
    expect(losses).toEqual(['prompt_cache_options'])
    expect(Object.keys(written)).not.toContain('prompt_cache_options')
  })

  test('are a loss where they ask for a lifetime that Chat has for no whole prompt', () => {
    const options = { prompt_cache_options: { mode: 'explicit', ttl: '12h' } }
    const { written, losses } = sent('openai-responses', 'openai-chat-completions', options)
    expect(losses).toEqual(['prompt_cache_options'])
    expect(Object.keys(written)).not.toContain('prompt_cache_options')
    expect(sent('openai-chat-completions', 'openai-responses', options)).toMatchObject({
      written: options,
      losses: [],
    })
  })
})

describe("who OpenAI's callers say the end user is", () => {
  const both = { safety_identifier: 'person', user: 'session' }

  test.each([
    ['openai-chat-completions', 'openai-responses'],
    ['openai-responses', 'openai-chat-completions'],
  ] as const)('goes from %s to %s in both words, where they say two things', (from, to) => {
    expect(sent(from, to, both)).toMatchObject({ written: both, losses: [] })
    expect(sent(from, to, { safety_identifier: 'one', user: 'one' })).toMatchObject({
      written: { user: 'one' },
      losses: [],
    })
    const long = sent(from, to, { safety_identifier: 'p'.repeat(65), user: 's'.repeat(65) }).written
    expect([long['safety_identifier'], long['user']]).toEqual([
      expect.stringMatching(/^[0-9a-f]{64}$/),
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ])
  })

  test.each(['openai-chat-completions', 'openai-responses'] as const)(
    'is to others the newer word of %s, and the older one is a loss',
    from => {
      const { written, losses } = sent(from, 'anthropic-messages', both)
      expect([written['metadata'], losses]).toEqual([{ user_id: 'person' }, ['user']])
      const long = sent(from, 'anthropic-messages', { user: 'u'.repeat(257) })
      expect([long.written['metadata'], long.losses]).toEqual([
        { user_id: expect.stringMatching(/^[0-9a-f]{64}$/) },
        [],
      ])
      const fits = sent(from, 'anthropic-messages', { user: 'u'.repeat(256) })
      expect(fits.written['metadata']).toEqual({ user_id: 'u'.repeat(256) })
      const empty = sent(from, 'anthropic-messages', { safety_identifier: '', user: 'session' })
      expect([empty.written['metadata'], empty.losses]).toEqual([{ user_id: 'session' }, []])
    },
  )

  test('is one word at vendors of Chat that are not OpenAI', () => {
    const { written, losses } = sent('openai-responses', 'openai-chat-completions', both, 'groq.com')
    expect([written['user'], losses]).toEqual(['person', ['user']])
    expect(Object.keys(written)).not.toContain('safety_identifier')
  })
})

test.each([
  [undefined, {}],
  ['default', { service_tier: 'default' }],
  ['standard', { service_tier: 'default' }],
  ['priority', { service_tier: 'priority' }],
  ['scale', { service_tier: 'scale' }],
  ['on_demand', { service_tier: 'default' }],
  ['performance', {}],
])("a tier %s is told in OpenAI's own words", (tier, told) => {
  expect(openaiTier(tier)).toEqual(told)
})
