import { expect, test } from 'bun:test'
import { least } from '#tests/support/least.ts'
import { hasRedisServer, openTestRedis } from '#tests/support/stores/redis.ts'
import { OUTAGES, runOutage } from './outage.ts'
import { askFromProcesses } from './processes.ts'

if (hasRedisServer) {
  test.each(OUTAGES)(
    '%s of Redis under load: limits hold, nobody fails and no slot leaks',
    async outage => {
      const run = async () => {
        const report = await runOutage(outage, {
          gateways: 4,
          callers: 5,
          limitPerMinute: 300,
          beforeMs: 200,
          awayMs: 400,
          afterMs: 300,
          // A stall of the machine would be a second outage, whose burst comes on top. Where Redis does not answer, the
          // time that a command may take is what is tested.
          ...(outage === 'pause' ? {} : { commandTimeoutMs: 10_000 }),
        })
        expect(report.admitted).toBeWithin(300, report.bound + 1)
        expect(report.failed).toBe(0)
        expect(report.leaked).toBe(0)
        return report.backAfterMs
      }
      // Figures of a machine that does nothing else are what `bun run chaos limits` prints.
      expect(await least(3_000, run)).toBeLessThan(3_000)
    },
    60_000,
  )
} else {
  test('LOUD: the loss of Redis was NOT tested under load, there is no redis-server', () => {
    console.error('\n*** limits: no redis-server here, so its loss under load was not tested ***\n')
  })
}

const server = await openTestRedis()

if (server !== undefined) {
  test('4 processes on one Redis hold one limit', async () => {
    const options = { processes: 4, takes: 300, limit: 200 }
    const { slots, rate, refilled } = await askFromProcesses(server.url, server.namespace, options)
    await server.close()
    expect(slots).toBe(200)
    expect(rate).toBeWithin(200, 200 + Math.ceil(refilled) + 1)
  }, 60_000)
}
