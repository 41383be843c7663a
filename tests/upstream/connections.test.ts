import { describe, expect, test } from 'bun:test'
import { channelOf } from '#tests/support/channels.ts'
import { type ManualClock, manualClock } from '#tests/support/manual-clock.ts'
import { type RawRequest, rawAnswer, rawUpstream } from '#tests/support/upstreams/raw-upstream.ts'
import { fedStream, scriptedUpstream, until } from '#tests/support/upstreams/upstream.ts'
import { createAddressGuard } from '@/upstream/address-guard.ts'
import { createUpstreamClient } from '@/upstream/client.ts'
import { type Reach, tcpReach } from '@/upstream/connections.ts'

function clientTo(baseUrl: string, clock: ManualClock, reach?: Reach) {
  const guard = createAddressGuard({ clock })
  const client = createUpstreamClient({ clock, guard, simulatorUrl: () => '', reach })
  const timeouts = { connectMs: 1_000, firstByteMs: 60_000, idleMs: 60_000 }
  return () =>
    client({
      channel: channelOf(1, { baseUrl, allowPrivate: true, timeouts }),
      key: undefined,
      call: { kind: 'generate', model: 'm', stream: false },
      body: Buffer.from('{"model":"m"}'),
      headers: {},
      attempt: new AbortController(),
    })
}

/** Answers the first request of each connection and does something else with the next. */
async function onReuse(next: (request: RawRequest) => void) {
  const upstream = await rawUpstream(request => {
    if (request.nth === 0) request.socket.write(rawAnswer('{}'))
    else next(request)
  })
  const send = clientTo(upstream.url, manualClock())
  await (await send()).text()
  return { upstream, send }
}

describe('a pooled connection that is dead', () => {
  test.each<[string, (request: RawRequest) => void]>([
    ['closed', ({ socket }) => socket.end()],
    ['reset', ({ socket }) => socket.resetAndDestroy()],
  ])('%s on reuse: the request goes over a new one', async (_, close) => {
    const { upstream, send } = await onReuse(close)
    const response = await send()
    expect([response.status, upstream.connections, upstream.requests]).toEqual([200, 2, 3])
    await upstream.stop()
  })

  test('is replaced once: an upstream that closes the new one as well has failed', async () => {
    let closes = false
    const upstream = await rawUpstream(({ socket }) => {
      if (closes) socket.destroy()
      else socket.write(rawAnswer('{}'))
    })
    const send = clientTo(upstream.url, manualClock())
    await (await send()).text()
    closes = true
    await expect(send()).rejects.toMatchObject({ kind: 'upstream_error', retry: 'next-channel' })
    expect(upstream.requests).toBe(3)
    await upstream.stop()
  })

  test('is no excuse for one that is closed after a while: its upstream may have done the work', async () => {
    const clock = manualClock()
    const upstream = await rawUpstream(({ socket, nth }) => {
      if (nth === 0) socket.write(rawAnswer('{}'))
      else {
        clock.advance(1_500)
        socket.destroy()
      }
    })
    const send = clientTo(upstream.url, clock)
    await (await send()).text()
    await expect(send()).rejects.toMatchObject({ kind: 'upstream_error' })
    expect(upstream.requests).toBe(2)
    await upstream.stop()
  })

  test('cannot be what closed the first connection of all', async () => {
    const upstream = await rawUpstream(({ socket }) => socket.destroy())
    await expect(clientTo(upstream.url, manualClock())()).rejects.toMatchObject({ kind: 'upstream_error' })
    expect(upstream.requests).toBe(1)
    await upstream.stop()
  })
})

describe('connect_ms', () => {
  /** A bare connection that stands, or does not, when the test says so. */
  function probe() {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const asked: [string, number][] = []
    const reach: Reach = (url, withinMs) => {
      asked.push([url, withinMs])
      return promise
    }
    return { reach, asked, stands: resolve }
  }

  test('ends an attempt whose connection does not come to stand', async () => {
    const upstream = scriptedUpstream(() => new Promise<Response>(() => {}))
    const clock = manualClock()
    const { reach, asked, stands } = probe()
    const sent = clientTo(upstream.url, clock, reach)().catch((error: unknown) => error)
    await until(() => upstream.seen.length === 1)
    clock.advance(499)
    expect(asked).toEqual([])
    clock.advance(1)
    expect(asked).toEqual([[`${upstream.url}/v1/chat/completions`, 500]])
    stands(false)
    expect(await sent).toMatchObject({ kind: 'upstream_timeout', retry: 'next-channel' })
    await upstream.stop()
  })

  test('does not limit an upstream that can be reached and thinks', async () => {
    const { promise: answer, resolve } = Promise.withResolvers<Response>()
    const upstream = scriptedUpstream(() => answer)
    const clock = manualClock()
    const { reach, stands } = probe()
    const sent = clientTo(upstream.url, clock, reach)()
    await until(() => upstream.seen.length === 1)
    clock.advance(500)
    stands(true)
    clock.advance(30_000)
    resolve(new Response('{}'))
    expect((await sent).status).toBe(200)
    await upstream.stop()
  })

  test('ends nothing once the head of an answer has come, whatever becomes of the bare connection', async () => {
    const head = Promise.withResolvers<Response>()
    const upstream = scriptedUpstream(() => head.promise)
    const clock = manualClock()
    const time = Promise.withResolvers<boolean>()
    const reach: Reach = (_url, _withinMs, signal) => {
      signal.addEventListener('abort', () => time.reject(signal.reason))
      return time.promise
    }
    const sent = clientTo(upstream.url, clock, reach)()
    await until(() => upstream.seen.length === 1)
    clock.advance(500)
    const fed = fedStream()
    head.resolve(new Response(fed.stream))
    fed.write('one')
    const response = await sent
    time.resolve(false)
    fed.write(', two')
    fed.close()
    expect(await response.text()).toBe('one, two')
    await upstream.stop()
  })

  test('asks nothing where a connection stands already', async () => {
    const { promise: answer, resolve } = Promise.withResolvers<Response>()
    const answers = [async () => new Response('{}'), () => answer]
    const upstream = scriptedUpstream(() => answers.shift()?.() ?? new Response('{}'))
    const clock = manualClock()
    const { reach, asked } = probe()
    const send = clientTo(upstream.url, clock, reach)
    await (await send()).text()
    const sent = send()
    await until(() => upstream.seen.length === 2)
    clock.advance(5_000)
    resolve(new Response('{}'))
    expect((await sent).status).toBe(200)
    expect(asked).toEqual([])
    await upstream.stop()
  })

  test('a bare connection is opened and closed, and says when there is nobody', async () => {
    const upstream = await rawUpstream(() => {})
    const { signal } = new AbortController()
    expect(await tcpReach(`${upstream.url}/v1/x`, 10_000, signal)).toBe(true)
    await until(() => upstream.connections === 1)
    await upstream.stop()
    await expect(tcpReach(upstream.url, 10_000, signal)).rejects.toThrow()
  })

  test('a bare connection that is given up says why', async () => {
    const upstream = await rawUpstream(() => {})
    const attempt = new AbortController()
    const reached = tcpReach(upstream.url, 10_000, attempt.signal)
    attempt.abort(new Error('over'))
    await expect(reached).rejects.toThrow('over')
    await upstream.stop()
  })
})
