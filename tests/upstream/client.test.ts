import { describe, expect, test } from 'bun:test'
import { channelOf } from '#tests/support/channels.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import { systemClock } from '@/clock/clock.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { createAddressGuard, type Lookup } from '@/upstream/address-guard.ts'
import type { Channel } from '@/upstream/channel.ts'
import { createUpstreamClient } from '@/upstream/client.ts'

const upstream = fileUpstream(() => new Response('{}'))

const TIMEOUTS = { connectMs: 10_000, firstByteMs: 10_000, idleMs: 10_000 }

function clientOf(lookup: Lookup, simulatorUrl = () => upstream.url) {
  const guard = createAddressGuard({ clock: systemClock, lookup })
  const client = createUpstreamClient({ clock: systemClock, guard, simulatorUrl })
  return (channel: Partial<Channel>, attempt = new AbortController()) =>
    client({
      channel: channelOf(1, { timeouts: TIMEOUTS, ...channel }),
      key: undefined,
      call: { kind: 'generate', model: 'm', stream: false },
      body: Buffer.from('{}'),
      headers: {},
      attempt,
    })
}

const send = (channel: Partial<Channel>, lookup: Lookup, attempt?: AbortController) =>
  clientOf(lookup)(channel, attempt)

const { port } = new URL(upstream.url)
const loopback: Lookup = async () => ['127.0.0.1']
const never: Lookup = () => new Promise(() => {})

describe('where a channel may go', () => {
  test.each([
    ['an address', upstream.url],
    ['a name', `http://inside.example:${port}`],
  ])('%s on a private network is not reached, and its address is for the log only', async (_, baseUrl) => {
    const before = upstream.seen.length
    const error: unknown = await send({ baseUrl }, loopback).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(GatewayError)
    expect(error).toMatchObject({ kind: 'upstream_error', retry: 'next-channel', status: 502 })
    expect(error).toHaveProperty('message', 'The upstream could not be reached')
    expect(upstream.seen).toHaveLength(before)
  })

  test('allow_private allows it', async () => {
    expect((await send({ baseUrl: upstream.url, allowPrivate: true }, never)).status).toBe(200)
  })

  test('the built-in simulator is always allowed', async () => {
    expect((await send({ baseUrl: 'simulator:' }, never)).status).toBe(200)
  })

  test('the built-in simulator is reached past a proxy that the environment names', async () => {
    const before = process.env['HTTP_PROXY']
    process.env['HTTP_PROXY'] = 'http://127.0.0.1:9'
    try {
      await expect(send({ baseUrl: upstream.url, allowPrivate: true }, never)).rejects.toThrow()
      expect((await send({ baseUrl: 'simulator:' }, never)).status).toBe(200)
    } finally {
      if (before === undefined) delete process.env['HTTP_PROXY']
      else process.env['HTTP_PROXY'] = before
    }
  })

  test('only the built-in simulator is given a key that the channel does not have', async () => {
    await send({ baseUrl: 'simulator:', format: 'openai-responses' }, never)
    expect(upstream.seen.at(-1)?.headers.get('authorization')).toBe('Bearer any')
    await send({ baseUrl: upstream.url, allowPrivate: true, format: 'openai-responses' }, never)
    expect(upstream.seen.at(-1)?.headers.get('authorization')).toBeNull()
  })
})

describe('a socket that this process may not open is no fault', () => {
  const full = () => {
    throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
  }
  const overloaded = { kind: 'overloaded', status: 503, retry: 'never' }

  test('of the upstream', async () => {
    const sent = send({ baseUrl: 'http://vendor.example' }, async () => full())
    await expect(sent).rejects.toMatchObject(overloaded)
  })

  test('of the simulator, which opens one when it is first used', async () => {
    const sent = clientOf(async () => [], full)({ baseUrl: 'simulator:' })
    await expect(sent).rejects.toMatchObject(overloaded)
  })
})

describe('looking up a name', () => {
  test('is within the time that an attempt has', async () => {
    const timeouts = { ...TIMEOUTS, firstByteMs: 1 }
    await expect(send({ baseUrl: 'http://slow.example', timeouts }, never)).rejects.toThrow('in time')
  })

  test('ends when the caller leaves', async () => {
    const caller = new AbortController()
    const sent = send({ baseUrl: 'http://slow.example' }, never, caller)
    caller.abort(new Error('left'))
    await expect(sent).rejects.toThrow('left')
  })

  test('that fails is a failure of the upstream, and another channel may do better', async () => {
    const lost: Lookup = async () => {
      throw new Error('ENOTFOUND')
    }
    await expect(send({ baseUrl: 'http://lost.example' }, lost)).rejects.toMatchObject({
      kind: 'upstream_error',
      retry: 'next-channel',
    })
  })

  test('is done anew by the attempt after one that came to nothing', async () => {
    let asked = 0
    const client = clientOf(async () => {
      asked += 1
      return ['127.0.0.1']
    })
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await expect(client({ baseUrl: 'http://inside.example' })).rejects.toThrow('could not be reached')
      expect(asked).toBe(attempt)
    }
  })
})
