import { describe, expect, test } from 'bun:test'
import { channelOf } from '#tests/support/channels.ts'
import { systemClock } from '@/clock/clock.ts'
import { type AddressGuard, createAddressGuard } from '@/upstream/address-guard.ts'
import { createUpstreamClient } from '@/upstream/client.ts'
import { ConnectionPools, poolTls } from '@/upstream/connection-pools.ts'
import { PINNED_NAME, servePinned } from './pinned-server.ts'

describe('connection pools', () => {
  test('are taken from the lowest on, 64 attempts to each, and again when they are free', () => {
    const pools = new ConnectionPools()
    const taken = Array.from({ length: 130 }, () => pools.take())
    expect(taken).toEqual([...Array(64).fill(0), ...Array(64).fill(1), 2, 2])
    pools.free(1)
    pools.free(0)
    expect([pools.take(), pools.take(), pools.take()]).toEqual([0, 1, 2])
  })

  test('are not without number: what is more shares the last one', () => {
    const pools = new ConnectionPools()
    for (let count = 0; count < 64 * 64; count += 1) pools.take()
    expect([pools.take(), pools.take()]).toEqual([63, 63])
    pools.free(5)
    expect(pools.take()).toBe(5)
  })

  test('differ in TLS options, which leave the name as it is; plain HTTP has none', () => {
    const dial = { url: 'https://1.1.1.1/v1', tls: { serverName: 'a.example' } }
    expect(poolTls(dial, 0)).toEqual({ serverName: 'a.example' })
    const options = [1, 2, 63].map(pool => poolTls(dial, pool))
    expect(new Set(options.map(tls => JSON.stringify(tls))).size).toBe(3)
    for (const tls of options) expect(tls).toMatchObject({ serverName: 'a.example' })
    expect(poolTls({ url: 'http://1.1.1.1/v1', tls: undefined }, 2)).toBeUndefined()
  })
})

/** An upstream that answers when `size` requests wait. */
async function upstreamOf(size: number) {
  const waiting: (() => void)[] = []
  const server = await servePinned((request, response) => {
    request.resume()
    waiting.push(() => response.end('{}'))
    if (waiting.length === size) for (const answer of waiting.splice(0)) answer()
  })
  const guard = (serverName: string): AddressGuard => ({
    ...createAddressGuard({ clock: systemClock }),
    recall: (_, url) => ({ url, headers: { host: PINNED_NAME }, tls: server.tlsOf(serverName) }),
  })
  const timeouts = { connectMs: 10_000, firstByteMs: 10_000, idleMs: 10_000 }
  const channel = channelOf(1, { baseUrl: server.url, timeouts })
  const ask = async (pool: number, serverName = PINNED_NAME) => {
    const client = clients.get(serverName) ?? newClient(guard(serverName))
    clients.set(serverName, client)
    const response = await client({
      channel,
      key: undefined,
      call: { kind: 'generate', model: 'm', stream: false },
      body: Buffer.from('{}'),
      headers: {},
      attempt: new AbortController(),
      pool,
    })
    return response.text()
  }
  const clients = new Map<string, ReturnType<typeof newClient>>()
  return { server, ask }
}

function newClient(guard: AddressGuard) {
  return createUpstreamClient({ clock: systemClock, guard, simulatorUrl: () => '' })
}

test('200 requests at once, again and again, open no more connections than 200', async () => {
  const { server, ask } = await upstreamOf(200)
  const pools = new ConnectionPools()
  const one = async () => {
    const pool = pools.take()
    await ask(pool)
    pools.free(pool)
  }
  for (let round = 0; round < 3; round += 1) await Promise.all(Array.from({ length: 200 }, one))
  expect(server.connections).toBe(200)
  server.close()
})

test.each([0, 1, 63])('on pool %d a certificate is held to its name', async pool => {
  const { server, ask } = await upstreamOf(1)
  expect(await ask(pool)).toBe('{}')
  await expect(ask(pool, 'other.example.test')).rejects.toMatchObject({
    detail: expect.stringContaining('ALTNAME'),
  })
  server.close()
})
