import { expect, test } from 'bun:test'
import { channelOf } from '#tests/support/channels.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { breakerReadings } from '@/commands/serve/breaker-readings.ts'
import { PAUSES } from '@/routing/health/breaker.ts'
import { Health } from '@/routing/health/health.ts'

test('a model of a key is told as long as it is held back, a key until it works again', () => {
  const clock = manualClock()
  const health = new Health({ clock, random: () => 0 })
  const [one, other] = [channelOf(1), channelOf(2)]
  const refuse = (channel: typeof one, kind: 'upstream_auth' | 'model_refused') =>
    health.beginAnyway(channel, channel.keys[0], 'm').report({ kind, retryAfterMs: undefined, reason: 'no' })
  refuse(one, 'model_refused')
  refuse(other, 'upstream_auth')
  const heldBack = () =>
    breakerReadings(health.state([one, other]))
      .filter(({ cause }) => cause !== undefined)
      .map(({ channel, key, model, cause }) => [channel, key, model, cause])
  const key = ['channel-2', '0', undefined, 'refused']
  expect(heldBack()).toEqual([['channel-1', '0', 'm', 'refused'], key])
  clock.advance(PAUSES.refused.firstMs)
  expect(heldBack()).toEqual([key])
})
