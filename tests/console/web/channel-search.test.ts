import { expect, test } from 'bun:test'
import type { Channel } from '@/console/api/contract/admin-catalog.ts'
import { foundChannels } from '@/console/web/pages/admin/channels/channel-search.ts'

const IN_USE = { state: 'closed', cause: null, reason: null, until: null, succeeded: 0, failed: 0 } as const
const HELD_BACK = { ...IN_USE, state: 'open' } as const

function channelOf(changes: Partial<Channel>): Channel {
  return {
    name: 'plain',
    format: 'openai-responses',
    base_url: 'https://api.example.com',
    api_keys: [],
    priority: 0,
    weight: 1,
    headers: {},
    timeouts: { connect_ms: 10_000, first_byte_ms: 120_000, idle_ms: 120_000 },
    max_concurrent: null,
    function_tools_only: false,
    think_tags: null,
    reasoning_field: null,
    cache_prompts: false,
    allow_private: false,
    health: { breaker: IN_USE, first_byte_ms: null },
    models: [],
    revision: '1',
    ...changes,
  }
}

const CHANNELS = [
  channelOf({ name: 'first', models: ['acme/Small'] }),
  channelOf({
    name: 'key refused',
    api_keys: [{ id: 1, hint: null, breaker: IN_USE, paused_models: [{ model: 'm', breaker: HELD_BACK }] }],
  }),
  channelOf({ name: 'down', health: { breaker: HELD_BACK, first_byte_ms: null } }),
  channelOf({ name: 'last', format: 'anthropic-messages', base_url: 'https://other.example' }),
]

test('channels that are held back stand first, then those with a key that is, then the others as they are', () => {
  expect(foundChannels(CHANNELS, '').map(({ name }) => name)).toEqual([
    'down',
    'key refused',
    'first',
    'last',
  ])
})

test.each([
  [' FIRST', 'first'],
  ['anthropic', 'last'],
  ['other.example', 'last'],
  ['acme/small', 'first'],
])(
  'channels are found by a part of what they are called, what they speak, where they are or what they serve: %p',
  (search, name) => {
    expect(foundChannels(CHANNELS, search)).toEqual(CHANNELS.filter(channel => channel.name === name))
  },
)
