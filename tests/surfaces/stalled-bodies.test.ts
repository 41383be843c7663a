import { describe, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { type ManualClock, manualClock } from '#tests/support/manual-clock.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { serveApiHost } from '@/surfaces/api-host.ts'
import { CALLS, readError, SURFACES } from './calls.ts'

const MB = 1024 * 1024

const clock: ManualClock = manualClock()
/** How often the gateway began to wait for something. */
let waits = 0
const gateway = await fileGateway({ clock })
const { deadlines } = gateway.server.gateway
const after = deadlines.after.bind(deadlines)
deadlines.after = (ms, task) => {
  waits += 1
  return after(ms, task)
}

/** A caller who writes when the test says so. */
interface SlowCaller {
  socket: Socket
  /** All that came so far. */
  received: () => string
  /** What came until the gateway closed the connection, as an answer. */
  answer: () => Promise<Response>
}

function openCaller(url = gateway.url): SlowCaller {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let received = ''
  socket.on('data', chunk => {
    received += chunk.toString('utf8')
  })
  socket.on('error', () => {})
  const closed = new Promise<void>(resolve => socket.on('close', () => resolve()))
  return { socket, received: () => received, answer: () => closed.then(() => answerOf(received)) }
}

function answerOf(received: string): Response {
  const end = received.indexOf('\r\n\r\n')
  const [first = '', ...lines] = received.slice(0, end).split('\r\n')
  const headers = new Headers()
  for (const line of lines)
    headers.append(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1))
  return new Response(received.slice(end + 4), { status: Number(first.split(' ')[1]), headers })
}

function headOf(path: string, headers: Record<string, string>): string {
  const all = { host: 'gateway', authorization: `Bearer ${gateway.key}`, ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

const JSON_TYPE = { 'content-type': 'application/json' }
const CHAT = '/v1/chat/completions'

const SMALL = { ...JSON_TYPE, 'content-length': '4096' }
const LARGE = { ...JSON_TYPE, 'content-length': String(2 * MB) }

/** The ways to send half a body, and how long the rest is waited for. */
const HALVES: [what: string, headers: Record<string, string>, body: string, patienceMs: number][] = [
  ['a small body', SMALL, '{"model":', 61_000],
  ['a small body of which nothing came', SMALL, '', 61_000],
  ['a large body', LARGE, '{"model":', 60_000],
  ['a large body of which nothing came', LARGE, '', 60_000],
  ['chunks', { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, '9\r\n{"model":\r\n', 60_000],
  ['an encoded body', { ...LARGE, 'content-encoding': 'gzip' }, '\x1f', 60_000],
  ['an idempotent request', { ...LARGE, 'idempotency-key': 'stalled' }, '{', 60_000],
  [
    'a form',
    { 'content-type': 'multipart/form-data; boundary=b', 'content-length': '9999' },
    '--b\r\ncontent-disposition: form-data; name="file"; filename="a.mp3"\r\n\r\nsound',
    60_000,
  ],
]

/** Begins a request, and waits until the gateway waits for the rest of it. */
async function begin(text: string): Promise<SlowCaller> {
  const before = waits
  const caller = openCaller()
  caller.socket.write(text)
  await until(() => waits > before)
  return caller
}

describe('a body of which nothing more comes', () => {
  test.each(SURFACES)('is answered 408 in the words of %s, and its connection closed', async surface => {
    const caller = await begin(headOf(CALLS[surface].path('chat/echo'), LARGE))
    clock.advance(60_100)
    const response = await caller.answer()
    expect(response.headers.get('connection')).toBe('close')
    const error = await readError(response, surface)
    expect(error).toMatchObject({ status: 408, code: 'body_stalled' })
    expect(error.message).toStartWith('The rest of the body did not come')
    expect(gateway.server.gateway.open.size).toBe(0)
  })

  test.each(HALVES)('%s has its time and not more', async (what, headers, body, patienceMs) => {
    const path = what === 'a form' ? '/v1/audio/transcriptions' : CHAT
    const caller = await begin(headOf(path, headers) + body)
    clock.advance(patienceMs - 1000)
    await new Promise(resolve => setImmediate(resolve))
    expect(caller.received()).toBe('')
    clock.advance(1100)
    const response = await caller.answer()
    expect(await readError(response, 'chat')).toMatchObject({ status: 408, code: 'body_stalled' })
    expect(gateway.server.gateway.open.size).toBe(0)
  })
})

test('three thousand that stall together are answered, and the process serves on', async () => {
  const before = waits
  const crowd = Array.from({ length: 3_000 }, () => openCaller())
  for (const { socket } of crowd) socket.write(`${headOf(CHAT, SMALL)}{"model":`)
  await until(() => waits >= before + crowd.length)
  clock.advance(61_100)
  const answers = await Promise.all(crowd.map(caller => caller.answer()))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([408]))
  expect(gateway.server.gateway.open.size).toBe(0)
})

test('a large body that comes slowly is waited for as long as something comes', async () => {
  const body = JSON.stringify({
    model: 'chat/echo',
    messages: [{ role: 'user', content: 'x'.repeat(2 * MB) }],
    max_tokens: 1,
  })
  const headers = { ...JSON_TYPE, 'content-length': String(body.length), connection: 'close' }
  const caller = await begin(headOf(CHAT, headers))
  const step = Math.ceil(body.length / 5)
  for (let at = 0; at < body.length; at += step) {
    const before = waits
    caller.socket.write(body.slice(at, at + step))
    await until(() => waits > before)
    clock.advance(50_000)
  }
  const response = await caller.answer()
  expect(response.status).toBe(200)
})

test('a small body may come slowly, too', async () => {
  const body = JSON.stringify(CALLS.chat.body('chat/echo'))
  const headers = { ...JSON_TYPE, 'content-length': String(body.length), connection: 'close' }
  const caller = await begin(headOf(CHAT, headers) + body.slice(0, 9))
  clock.advance(50_000)
  caller.socket.write(body.slice(9))
  expect((await caller.answer()).status).toBe(200)
})

describe('a connection after an error', () => {
  const address = {
    hostname: '127.0.0.1',
    port: 0,
    isShared: false,
    webSocket: false,
    trustedProxies: [],
    corsOrigins: [],
    restAfterErrorS: 1,
  }

  test.each([
    ['an unknown path', 'GET / HTTP/1.1\r\nhost: gateway\r\n\r\n', 404],
    ['half a body without a key', `POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{`, 401],
  ])('is closed when nothing more comes: %s', async (_what, text, status) => {
    const host = serveApiHost(gateway.server.gateway, address)
    try {
      const caller = openCaller(host.url.href)
      caller.socket.write(text)
      const response = await caller.answer()
      expect(response.status).toBe(status)
      expect(response.headers.get('connection')).toBeNull()
    } finally {
      await host.stop()
    }
  })
})
