import { afterAll, describe, expect, test } from 'bun:test'
import { channelOf } from '#tests/support/channels.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { connectRedis, hasRedisServer, openTestRedis, startRedisServer } from '#tests/support/stores/redis.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { redisScript } from '@/redis/redis.ts'
import { MAX_STREAK } from '@/routing/health/breaker.ts'
import { Health } from '@/routing/health/health.ts'
import type { Outcome } from '@/routing/health/outcome.ts'
import { redisSharing } from '@/routing/health/redis-sharing.ts'

const REFUSED: Outcome = { kind: 'upstream_auth', retryAfterMs: undefined, reason: 'status 401' }
const FAILED: Outcome = { kind: 'upstream_error', retryAfterMs: undefined, reason: 'status 500' }

/** A process as far as health goes. */
async function member(url: string, namespace: string, origin: string) {
  const redis = await connectRedis(url)
  const sharing = redisSharing({ url, redis, origin, namespace })
  await sharing.listening
  const clock = manualClock()
  const health = new Health({ clock, random: () => 0, sharing })
  return {
    health,
    redis,
    standing: (id: number, position = 0, model = 'model') => {
      const channel = channelOf(id, {}, 2)
      return health.standing(channel, channel.keys[position], model).kind
    },
    attempt: (id: number, outcome: Outcome, model = 'model') => {
      const channel = channelOf(id, {}, 2)
      clock.advance(1)
      health.beginAnyway(channel, channel.keys[0], model).report(outcome)
    },
    close: async () => {
      await sharing.close()
      await redis.close()
    },
  }
}

const redis = await openTestRedis()
if (redis === undefined)
  console.error('NO REDIS: set REDIS_URL or install redis-server to test shared health')
afterAll(() => redis?.close())

describe.skipIf(redis === undefined)('health over Redis', () => {
  const { url = '', namespace = '' } = redis ?? {}

  test('an opening is known to the other processes, and only to those of the deployment', async () => {
    const [one, other, stranger] = await Promise.all([
      member(url, namespace, 'one'),
      member(url, namespace, 'other'),
      member(url, `${namespace}else:`, 'stranger'),
    ])
    one.attempt(1, REFUSED)
    await until(() => other.standing(1) === 'paused')
    expect(other.standing(1, 1)).toBe('ready')
    one.attempt(3, { ...REFUSED, kind: 'model_refused' }, 'new')
    await until(() => other.standing(3, 0, 'new') === 'paused')
    expect(other.standing(3, 0, 'old')).toBe('ready')
    for (let count = 0; count < MAX_STREAK; count += 1) one.attempt(2, FAILED)
    await until(() => other.standing(2, 1) === 'paused')
    expect([stranger.standing(1), stranger.standing(2)]).toEqual(['ready', 'ready'])
    await Promise.all([one, other, stranger].map(({ close }) => close()))
  })

  test('what a process said itself tells it nothing when it comes back: it may know better by then', async () => {
    const [one, other] = await Promise.all([member(url, namespace, 'one'), member(url, namespace, 'other')])
    one.attempt(1, REFUSED)
    one.attempt(1, { kind: 'ok' })
    await until(() => other.standing(1) === 'paused')
    other.attempt(2, REFUSED)
    await until(() => one.standing(2) === 'paused')
    expect(one.standing(1)).toBe('ready')
    await Promise.all([one.close(), other.close()])
  })

  test.each(['', 'no json', '[]', '{"channel":1}', '{"channel":"1","pauseMs":1,"cause":"refused"}'])(
    'survives the message %p',
    async message => {
      const [one, other] = await Promise.all([member(url, namespace, 'one'), member(url, namespace, 'other')])
      const publish = redisScript("return redis.call('PUBLISH', ARGV[1], ARGV[2])")
      await one.redis.run(publish, [], [`${namespace}tollgate:health`, message])
      one.attempt(1, REFUSED)
      await until(() => other.standing(1) === 'paused')
      await Promise.all([one.close(), other.close()])
    },
  )
})

test.skipIf(!hasRedisServer)(
  'goes on without Redis, and with it again when it is back',
  async () => {
    const server = await startRedisServer()
    const [one, other] = await Promise.all([member(server.url, '', 'one'), member(server.url, '', 'other')])
    await server.kill()
    one.attempt(1, REFUSED)
    expect([one.standing(1), other.standing(1)]).toEqual(['paused', 'ready'])
    await server.restart()
    // Connections come back at their own pace; a key that is refused again and again is told again and again.
    await until(() => {
      one.attempt(1, REFUSED)
      return other.standing(1) === 'paused'
    })
    await Promise.all([one.close(), other.close()])
    await server.close()
  },
  60_000,
)
