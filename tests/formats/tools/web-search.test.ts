import { expect, test } from 'bun:test'
import { CODECS } from '@/formats/registry.ts'
import { lostSettings, NO_SETTINGS } from '@/formats/tools/web-search.ts'
import type { Format } from '@/generation/format.ts'
import type { HostedTool, WebSearch } from '@/generation/tool.ts'
import type { JsonObject } from '@/json/json.ts'

const UNKNOWN_CITY = { type: 'approximate', country: 'CH', city: null, region: null, timezone: null }

function search(webSearch: WebSearch | undefined): HostedTool {
  const wireType = 'web_search'
  return { type: 'hosted', kind: 'web_search', format: 'openai-responses', wireType, wire: {}, webSearch }
}

test('every setting that the target does not take is a loss by its name', () => {
  const all = search({
    maxUses: 0,
    allowedDomains: ['a.org'],
    blockedDomains: ['b.org'],
    userLocation: {},
    contextSize: 'low',
  })
  expect(lostSettings(all, ['allowedDomains', 'userLocation']).map(({ name }) => name)).toEqual([
    'web_search.max_uses',
    'web_search.blocked_domains',
    'web_search.search_context_size',
  ])
})

test.each<[Format, JsonObject]>([
  ['openai-responses', { input: 'hi', tools: [{ type: 'web_search', user_location: UNKNOWN_CITY }] }],
  [
    'anthropic-messages',
    {
      max_tokens: 90,
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ type: 'web_search_20250305', name: 'web_search', user_location: UNKNOWN_CITY }],
    },
  ],
  [
    'openai-chat-completions',
    {
      messages: [{ role: 'user', content: 'hi' }],
      web_search_options: { user_location: { type: 'approximate', approximate: UNKNOWN_CITY } },
    },
  ],
])('what a caller of %s does not know of its place is not said with a null', (format, body) => {
  const [tool] = CODECS[format].decodeRequest(body, { model: 'm', stream: false }).tools
  expect(tool).toMatchObject({ webSearch: { userLocation: { type: 'approximate', country: 'CH' } } })
  expect(JSON.stringify(tool?.type === 'hosted' && tool.webSearch)).not.toContain('null')
})

test.each<[string, JsonObject]>([
  [
    'Anthropic',
    {
      type: 'web_search_20250305',
      name: 'web_search',
      max_uses: 4,
      allowed_domains: ['a.org'],
      blocked_domains: ['b.org'],
      user_location: { type: 'approximate', city: 'Bern' },
      search_context_size: 'low',
    },
  ],
  [
    'OpenAI',
    {
      type: 'web_search',
      max_uses: 4,
      filters: { allowed_domains: ['a.org'], blocked_domains: ['b.org'] },
      user_location: { type: 'approximate', approximate: { city: 'Bern' } },
      search_context_size: 'low',
    },
  ],
])('a search among the tools of Chat Completions is limited in the words of %s', (_vendor, tool) => {
  const body = { messages: [{ role: 'user', content: 'hi' }], tools: [tool] }
  const call = { model: 'm', stream: false }
  expect(CODECS['openai-chat-completions'].decodeRequest(body, call).tools).toMatchObject([
    {
      kind: 'web_search',
      webSearch: {
        maxUses: 4,
        allowedDomains: ['a.org'],
        blockedDomains: ['b.org'],
        userLocation: { type: 'approximate', city: 'Bern' },
        contextSize: 'low',
      },
    },
  ])
})

test('a search without settings loses nothing', () => {
  expect(lostSettings(search(NO_SETTINGS), [])).toEqual([])
  expect(lostSettings(search(undefined), [])).toEqual([])
})
