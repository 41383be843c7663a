import { expect, test } from 'bun:test'
import { lostSettings, NO_SETTINGS } from '@/formats/tools/web-search.ts'
import type { HostedTool, WebSearch } from '@/generation/tool.ts'

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

test('a search without settings loses nothing', () => {
  expect(lostSettings(search(NO_SETTINGS), [])).toEqual([])
  expect(lostSettings(search(undefined), [])).toEqual([])
})
