import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import type { ServerWebSocket } from 'bun'
import { scriptedGateway } from '#tests/support/gateway/scripted-gateway.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { parseObject } from '@/json/json.ts'
import { ResponseSocket } from '@/surfaces/responses/response-socket.ts'

const { gateway } = await scriptedGateway({ maxBodyBytes: 100_000 })

/** A connection whose caller's side the test plays: while it is full, what is sent waits. */
function connection() {
  const frames: string[] = []
  const caller = { isFull: true, isCutOff: false }
  const opened = new Request(`${gateway.url}/v1/responses`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  })
  const socket = new ResponseSocket(gateway.server.gateway, opened, gateway.accountId, '127.0.0.1')
  const ws = {
    send: (frame: string) => {
      frames.push(frame)
      return caller.isFull ? -1 : frame.length
    },
    terminate: () => {
      caller.isCutOff = true
    },
  }
  // The connection sends, and closes once it is told to; the rest of a socket is Bun's.
  socket.open(ws as unknown as ServerWebSocket<ResponseSocket>)
  return {
    socket,
    caller,
    texts: () => frames,
    types: () => frames.map(frame => parseObject(frame)?.['type']),
  }
}

test('everybody who waits for room goes on when there is some: the answer, and an error beside it', async () => {
  const { socket, caller, types } = connection()
  socket.message(JSON.stringify({ type: 'response.create', model: 'chat/echo', input: 'hi' }))
  await until(() => types().length === 1)
  socket.message(Buffer.from('no text'))
  await until(() => types().includes('error'))
  expect(types()).toHaveLength(2)
  caller.isFull = false
  socket.drain()
  await until(() => types().at(-1) === 'response.completed')
  socket.closed()
})

test('those that wait are no longer together than one may be; what is beyond that has to come again', async () => {
  const { socket, caller, types } = connection()
  const frame = (length: number) =>
    JSON.stringify({ type: 'response.create', model: 'chat/echo', input: 'hi', user: 'u'.repeat(length) })
  const half = gateway.server.gateway.maxBodyBytes / 2
  socket.message(frame(1))
  socket.message(frame(half))
  socket.message(frame(half))
  await until(() => types().includes('error'))
  socket.message(frame(1))
  caller.isFull = false
  socket.drain()
  await until(() => types().filter(type => type === 'response.completed').length === 3)
  expect(types().filter(type => type === 'error')).toHaveLength(1)
  socket.closed()
})

test('whoever sends what is refused and never reads is cut off: what is to be told would fill the memory', async () => {
  const { socket, caller, types } = connection()
  for (let sent = 0; sent < 64; sent += 1) socket.message(Buffer.from('no text'))
  expect(caller.isCutOff).toBe(false)
  socket.message(Buffer.from('no text'))
  expect(caller.isCutOff).toBe(true)
  await until(() => types().length === 64)
  socket.closed()
})

test('whoever does not read that the key is not good any more is cut off at the next look at it', async () => {
  const { socket, caller, types } = connection()
  const error = new GatewayError('invalid_api_key', 'This API key is revoked')
  socket.refuse(error)
  await until(() => types().includes('error'))
  expect(caller.isCutOff).toBe(false)
  socket.refuse(error)
  expect(caller.isCutOff).toBe(true)
  socket.closed()
})

test.each([
  ['request', { model: 'nothing', input: 'hi' }],
  ['request to get ready', { model: 'chat/echo', input: 'hi', generate: false }],
])('a %s whose answer nobody reads keeps no connection where memory is short', async (_what, fields) => {
  const { socket, caller, types } = connection()
  socket.message(JSON.stringify({ type: 'response.create', ...fields }))
  await until(() => types().length === 1)
  expect(socket.makeRoom()).toBe(true)
  expect(caller.isCutOff).toBe(true)
  socket.closed()
})

test('an answer that is read slowly keeps its connection where memory is short, until all of it is sent', async () => {
  const { socket, caller, types } = connection()
  socket.message(JSON.stringify({ type: 'response.create', model: 'chat/echo', input: 'hi' }))
  expect(socket.makeRoom()).toBe(false)
  await until(() => types().length === 1)
  socket.message(Buffer.from('no text'))
  await until(() => types().includes('error'))
  expect(socket.makeRoom()).toBe(false)
  expect(caller.isCutOff).toBe(false)
  caller.isFull = false
  socket.drain()
  await until(() => types().at(-1) === 'response.completed')
  await until(() => socket.makeRoom())
  expect(caller.isCutOff).toBe(true)
  socket.closed()
})

test('a frame of more parts than a body may have is refused as one is, before it is parsed', async () => {
  const { maxBodyBytes } = gateway.server.gateway
  gateway.server.gateway.maxBodyBytes = 10_000_000
  try {
    const { socket, caller, texts } = connection()
    caller.isFull = false
    // What is wrong with it besides could only be told by who has parsed it.
    socket.message(`{"type":"nothing","input":[${'{},'.repeat(1_000_000)}{}]}`)
    await until(() => texts().length === 1)
    expect(texts()[0]).toContain('more than 1000000 objects, arrays and members')
    socket.closed()
  } finally {
    gateway.server.gateway.maxBodyBytes = maxBodyBytes
  }
})

test('whoever reads may have any number of frames refused', async () => {
  const { socket, caller, types } = connection()
  caller.isFull = false
  for (let sent = 1; sent <= 130; sent += 1) {
    socket.message(Buffer.from('no text'))
    await until(() => types().length === sent)
  }
  expect(caller.isCutOff).toBe(false)
  socket.closed()
})

test('nothing of the requests of a connection stays in memory with it', async () => {
  const { socket, caller, types } = connection()
  caller.isFull = false
  const ended = () => types().filter(type => type === 'response.completed').length
  const ask = async (requests: number) => {
    const due = ended() + requests
    for (let sent = 0; sent < requests; sent += 1) {
      socket.message(JSON.stringify({ type: 'response.create', model: 'responses/echo', input: 'hi' }))
      await until(() => ended() === due - requests + sent + 1)
    }
  }
  const functions = () => {
    Bun.gc(true)
    return heapStats().objectTypeCounts['Function'] ?? 0
  }
  await ask(20)
  const before = functions()
  await ask(60)
  await until(() => functions() - before < 45)
  socket.closed()
})
