import { describe, expect, test } from 'bun:test'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { channelOf } from '#tests/routing/channels.ts'
import { systemClock } from '@/clock/clock.ts'
import { type AddressGuard, createAddressGuard } from '@/upstream/address-guard.ts'
import { createUpstreamClient } from '@/upstream/client.ts'
import { Lanes, laneTls } from '@/upstream/lanes.ts'

describe('lanes', () => {
  test('are taken from the lowest on, 64 attempts to each, and again when they are free', () => {
    const lanes = new Lanes()
    const taken = Array.from({ length: 130 }, () => lanes.take())
    expect(taken).toEqual([...Array(64).fill(0), ...Array(64).fill(1), 2, 2])
    lanes.free(1)
    lanes.free(0)
    expect([lanes.take(), lanes.take(), lanes.take()]).toEqual([0, 1, 2])
  })

  test('are not without number: what is more shares the last one', () => {
    const lanes = new Lanes()
    for (let count = 0; count < 64 * 64; count += 1) lanes.take()
    expect([lanes.take(), lanes.take()]).toEqual([63, 63])
    lanes.free(5)
    expect(lanes.take()).toBe(5)
  })

  test('differ in TLS options, which leave the name as it is; plain HTTP has none', () => {
    const dial = { url: 'https://1.1.1.1/v1', tls: { serverName: 'a.example' } }
    expect(laneTls(dial, 0)).toEqual({ serverName: 'a.example' })
    const options = [1, 2, 63].map(lane => laneTls(dial, lane))
    expect(new Set(options.map(tls => JSON.stringify(tls))).size).toBe(3)
    for (const tls of options) expect(tls).toMatchObject({ serverName: 'a.example' })
    expect(laneTls({ url: 'http://1.1.1.1/v1', tls: undefined }, 2)).toBeUndefined()
  })
})

const name = 'api.example.test'

/** An upstream that answers when `size` requests wait, and counts connections. */
async function upstreamOf(size: number) {
  const read = (file: string) => Bun.file(join(import.meta.dir, file)).text()
  const [key, cert] = await Promise.all([read('pinned.key.pem'), read('pinned.cert.pem')])
  const waiting: (() => void)[] = []
  const seen = { connections: 0 }
  const server = createServer({ key, cert }, (request, response) => {
    request.resume()
    waiting.push(() => response.end('{}'))
    if (waiting.length === size) for (const answer of waiting.splice(0)) answer()
  })
  server.on('secureConnection', () => {
    seen.connections += 1
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const tlsOf = (serverName: string) => ({ serverName, ca: cert })
  const guard = (serverName: string): AddressGuard => ({
    ...createAddressGuard({ clock: systemClock }),
    recall: (_, url) => ({ url, headers: { host: name }, tls: tlsOf(serverName) }),
  })
  const timeouts = { connectMs: 10_000, firstByteMs: 10_000, idleMs: 10_000 }
  const channel = channelOf(1, { baseUrl: `https://127.0.0.1:${port}`, timeouts })
  const ask = async (lane: number, serverName = name) => {
    const client = clients.get(serverName) ?? newClient(guard(serverName))
    clients.set(serverName, client)
    const response = await client({
      channel,
      key: undefined,
      call: { kind: 'generate', model: 'm', stream: false },
      body: Buffer.from('{}'),
      headers: {},
      attempt: new AbortController(),
      lane,
    })
    return response.text()
  }
  const clients = new Map<string, ReturnType<typeof newClient>>()
  return { seen, ask, stop: () => server.close() }
}

function newClient(guard: AddressGuard) {
  return createUpstreamClient({ clock: systemClock, guard, simulatorUrl: () => '' })
}

test('200 requests at once, again and again, open no more connections than 200', async () => {
  const { seen, ask, stop } = await upstreamOf(200)
  const lanes = new Lanes()
  const one = async () => {
    const lane = lanes.take()
    await ask(lane)
    lanes.free(lane)
  }
  for (let round = 0; round < 3; round += 1) await Promise.all(Array.from({ length: 200 }, one))
  expect(seen.connections).toBe(200)
  stop()
})

test.each([0, 1, 63])('on lane %d a certificate is held to its name', async lane => {
  const { ask, stop } = await upstreamOf(1)
  expect(await ask(lane)).toBe('{}')
  await expect(ask(lane, 'other.example.test')).rejects.toMatchObject({
    detail: expect.stringContaining('ALTNAME'),
  })
  stop()
})
