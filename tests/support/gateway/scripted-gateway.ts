import { afterAll } from 'bun:test'
import { simulated } from '#tests/support/upstreams/simulated.ts'
import { type ScriptedUpstream, scriptedUpstream } from '#tests/support/upstreams/upstream.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from './gateway.ts'

/**
 * A gateway whose upstreams are all one that the tests of a file script; the simulator answers until they do
 * (`upstream.answer`). Both are closed after the file's last test.
 */
export async function scriptedGateway(
  options: Omit<TestGatewayOptions, 'upstreams'> = {},
): Promise<{ gateway: TestGateway; upstream: ScriptedUpstream }> {
  const upstream = scriptedUpstream(simulated)
  const gateway = await startTestGateway({ ...options, upstreams: upstream.url })
  afterAll(async () => {
    await gateway.close()
    await upstream.stop()
  })
  return { gateway, upstream }
}
