import { expect, test } from 'bun:test'
import { channelOf } from '#tests/support/channels.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { channelRow } from '@/console/catalog/catalog-rows.ts'
import type { StoredChannel } from '@/routing/catalog/store.ts'
import { Health } from '@/routing/health/health.ts'

test('of a key that an upstream refused for one model administrators see that model, and why', () => {
  const clock = manualClock()
  const health = new Health({ clock, random: () => 0, onOpening: () => {} })
  const channel = channelOf(1, {}, 2)
  const reason = 'You do not have access to it.'
  health
    .beginAnyway(channel, channel.keys[1], 'gpt-9')
    .report({ kind: 'model_refused', retryAfterMs: undefined, reason })
  const stored: StoredChannel = {
    ...channel,
    apiKeys: ['secret', 'secret'],
    keyIds: channel.keys.map(({ id }) => id),
    timeouts: {},
    revision: '1',
  }
  const [first, second] = channelRow(stored, health.state([channel])[0], []).api_keys
  expect(first?.paused_models).toEqual([])
  expect(second?.breaker.state).toBe('closed')
  expect(second?.paused_models).toMatchObject([
    { model: 'gpt-9', breaker: { state: 'open', cause: 'refused', reason, until: expect.any(String) } },
  ])
})
