import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { GuardedBuckets } from '@/limits/buckets/guarded-bucket.ts'
import type { RedisConnection } from '@/redis/redis.ts'

const PROBE_MS = 250

/** A cluster one of whose nodes can be gone: the one that has the keys of account 1. */
function cluster() {
  const node = { isGone: false }
  const redis: RedisConnection = {
    async run(_script, keys) {
      if (node.isGone && keys.some(key => key.includes('{a1}'))) throw new Error('CLUSTERDOWN')
      return keys.map(() => 1)
    },
    ping: async () => true,
    whenReady: async () => true,
    failure: () => undefined,
    close: async () => {},
  }
  return { node, redis }
}

test('a node of a cluster that is gone is told once, and that it is back when it is, though the others answer', async () => {
  const { node, redis } = cluster()
  const clock = manualClock()
  const told: string[] = []
  const guarded = new GuardedBuckets({
    redis,
    clock,
    namespace: 'test:',
    maxInFlight: 10,
    onLost: () => told.push('lost'),
    onBack: () => told.push('back'),
  })
  const ask = (account: string) => guarded.buckets.renew(`test:rl:{${account}}`, ['id'])
  /** One look at Redis; what follows its answer follows within two turns of the event loop. */
  const probed = async () => {
    clock.advance(PROBE_MS)
    for (let turns = 0; turns < 2; turns += 1) await new Promise<void>(resolve => setImmediate(resolve))
  }

  node.isGone = true
  for (let errors = 0; errors < 3; errors += 1) await expect(ask('a1')).rejects.toThrow('CLUSTERDOWN')
  for (let looks = 0; looks < 4; looks += 1) await probed()
  await ask('a2')
  expect([guarded.isAway, told]).toEqual([true, ['lost']])
  node.isGone = false
  await probed()
  expect([guarded.isAway, told]).toEqual([false, ['lost', 'back']])
  guarded.stop()
})
