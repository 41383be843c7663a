import { afterAll } from 'bun:test'
import type { ManualClock } from '#tests/support/manual-clock.ts'
import { simulated } from '#tests/support/upstreams/simulated.ts'
import { type ScriptedUpstream, scriptedUpstream, until } from '#tests/support/upstreams/upstream.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from './gateway.ts'

/**
 * A gateway whose upstreams are all one that the tests of a file script; the simulator answers until they do
 * (`upstream.answer`). Both are closed after the file's last test, for which a clock of the test's goes on.
 */
export async function scriptedGateway(
  options: Omit<TestGatewayOptions, 'upstreams' | 'clock'> & { clock?: ManualClock } = {},
): Promise<{ gateway: TestGateway; upstream: ScriptedUpstream }> {
  const upstream = scriptedUpstream(simulated)
  const gateway = await startTestGateway({ ...options, upstreams: upstream.url })
  afterAll(async () => {
    const closed = gateway.close()
    if (options.clock !== undefined) {
      await until(() => {
        options.clock?.advance(1000)
        return Bun.peek.status(closed) !== 'pending'
      })
    }
    await closed
    await upstream.stop()
  })
  return { gateway, upstream }
}
