import { afterAll } from 'bun:test'
import { startTestConsole, type TestConsole, type TestConsoleOptions } from './console.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from './gateway.ts'

/** A gateway for the tests of a file, closed after the last of them. */
export async function fileGateway(options?: TestGatewayOptions): Promise<TestGateway> {
  const gateway = await startTestGateway(options)
  afterAll(() => gateway.close())
  return gateway
}

/** The same with a console beside it. */
export async function fileConsole(
  options?: TestConsoleOptions,
): Promise<{ gateway: TestGateway; site: TestConsole }> {
  const gateway = await startTestGateway()
  const site = await startTestConsole(gateway, options)
  afterAll(async () => {
    await site.stop()
    await gateway.close()
  })
  return { gateway, site }
}
