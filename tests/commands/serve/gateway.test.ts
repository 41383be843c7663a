import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { box } from '#tests/support/secret.ts'
import { testDatabase } from '#tests/support/stores/database.ts'
import { openGateway } from '@/commands/serve/gateway.ts'
import { createLog } from '@/telemetry/log.ts'
import { createMetrics } from '@/telemetry/metrics.ts'

/** A clock that knows what goes on at it until it is told to stop. */
function watchedClock() {
  const clock = manualClock()
  const running = new Set<() => void>()
  const every = (ms: number, run: () => void) => {
    const cancel = clock.every(ms, run)
    const stop = () => {
      running.delete(stop)
      cancel()
    }
    running.add(stop)
    return stop
  }
  return { ...clock, every, running }
}

test('a gateway that is closed before it listened, as when its port is taken, asks the database nothing more', async () => {
  const database = await testDatabase()
  const clock = watchedClock()
  const gateway = await openGateway(
    {
      settings: {
        api: { host: '127.0.0.1', port: 0 },
        maxBodyBytes: 1_000,
        publicApiUrl: undefined,
        storesUnasked: false,
        workers: 1,
        journalDirectory: undefined,
        otlpEndpoint: undefined,
        redisUrl: undefined,
      },
      database,
      secretBox: box,
      clock,
      random: Math.random,
      log: createLog({ level: 'silent', format: 'json' }),
      metrics: createMetrics({ processMetrics: false }),
    },
    () => 0,
  )
  expect(clock.running.size).toBeGreaterThan(0)
  await gateway.close()
  expect(clock.running.size).toBe(0)
  await database.close()
})
