import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { startTestConsole, type TestConsole } from '#tests/support/gateway/console.ts'
import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { type ConsoleServer, serveConsole } from '@/console/console.ts'

let gateway: TestGateway
let site: TestConsole
let hasty: ConsoleServer
beforeAll(async () => {
  gateway = await startTestGateway()
  site = await startTestConsole(gateway)
  const noPages = new Promise<never>(() => {})
  hasty = serveConsole(site.console, noPages, {
    hostname: '127.0.0.1',
    port: 0,
    trustedProxies: [],
    idleS: 1,
  })
}, 60_000)
afterAll(async () => {
  await hasty.stop()
  await site.stop()
  await gateway.close()
})

/** What the console says to these bytes until it closes the connection by itself. */
function untilClosed(lines: readonly string[], body = ''): Promise<string> {
  const { hostname, port, origin } = hasty.url
  const socket = connect(Number(port), hostname)
  let received = ''
  socket.on('data', chunk => {
    received += chunk.toString('utf8')
  })
  socket.on('error', () => {})
  const head = [...lines, 'host: 127.0.0.1', `origin: ${origin}`].join('\r\n')
  socket.write(`${head}\r\n\r\n${body}`)
  return new Promise(resolve => socket.on('close', () => resolve(received)))
}

const JSON_TYPE = 'content-type: application/json'

test.each([
  ['of somebody who signs in', 'POST /api/session HTTP/1.1'],
  ['of a payment', 'POST /api/stripe/webhook HTTP/1.1'],
])('half a body %s is not waited for for ever', async (_what, line) => {
  const received = await untilClosed([line, JSON_TYPE, 'content-length: 60'], '{"email":')
  expect(received).not.toContain('200 OK')
})

test('a connection that is idle after an answer is closed', async () => {
  const received = await untilClosed(['GET /api/session HTTP/1.1'])
  expect(received).toStartWith('HTTP/1.1 ')
  expect(received).toContain('application/json')
})
