import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { runSimulator } from '#tests/simulator/running.ts'
import type { Recording } from '@/simulator/recordings.ts'
import { createSimulator } from '@/simulator/simulator.ts'

const { server, post } = runSimulator()

const chat = (model: string, more: Record<string, unknown> = {}) => ({
  model,
  messages: [{ role: 'user', content: 'one two three' }],
  stream: true,
  ...more,
})

function request(body: unknown): Request {
  const headers = { authorization: 'Bearer test-key-1234' }
  return new Request('http://localhost/v1/chat/completions', {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
}

/** Resolves once the condition holds; the condition is looked at whenever the event loop is free. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setImmediate(resolve))
}

describe('delivery', () => {
  test('equal requests to equal simulators get equal answers, and a second one other ids', async () => {
    const now = () => 1_700_000_000_000
    const [left, right] = [createSimulator({ now }), createSimulator({ now })]
    const first = await (await left.fetch(request(chat('reason')))).text()
    expect(await (await right.fetch(request(chat('reason')))).text()).toBe(first)
    expect(await (await left.fetch(request(chat('reason')))).text()).not.toBe(first)
  })

  test('slow-MS and pace-MS sleep through the given clock', async () => {
    const slept: number[] = []
    const simulator = createSimulator({
      sleep: async ms => {
        slept.push(ms)
      },
    })
    await (await simulator.fetch(request(chat('slow-700+pace-50')))).text()
    expect(slept[0]).toBe(700)
    expect(slept.slice(1).every(ms => ms === 50)).toBe(true)
    expect(slept.length).toBeGreaterThan(3)
  })

  test('an event is made only when the reader asks for it', async () => {
    const simulator = createSimulator()
    const response = await simulator.fetch(request(chat('long-1000000')))
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.read()
    const sent = simulator.stats().bytes
    await new Promise(resolve => setImmediate(resolve))
    expect(simulator.stats()).toMatchObject({ bytes: sent, active: 1 })
    expect(sent).toBeLessThan(2000)
    await reader?.cancel()
    expect(simulator.stats()).toMatchObject({ active: 0, cancelled: 1 })
  })

  test('a client that never reads does not make the server produce', async () => {
    const body = JSON.stringify(chat('long-100000000'))
    const before = server.simulator.stats()
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.pause()
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer k\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    await until(() => server.simulator.stats().bytes > before.bytes)
    let produced = -1
    await until(() => {
      const stalled = produced === server.simulator.stats().bytes
      produced = server.simulator.stats().bytes
      return stalled
    })
    expect(produced - before.bytes).toBeLessThan(16 * 1024 * 1024)
    socket.destroy()
    await until(() => server.simulator.stats().active === 0)
    expect(server.simulator.stats().cancelled).toBe(before.cancelled + 1)
  })

  test.each(['pace-1000000', 'slow-1000000', 'hang'])(
    '%s ends at once when the client leaves',
    async model => {
      const before = server.simulator.stats()
      const leaving = new AbortController()
      const response = fetch(`${server.url}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify(chat(model)),
        headers: { authorization: 'Bearer k' },
        signal: leaving.signal,
      }).then(answer => answer.text())
      await until(() => server.simulator.stats().started === before.started + 1)
      leaving.abort()
      expect(await response.catch(() => 'left')).toBe('left')
      await until(() => server.simulator.stats().active === 0)
      expect(server.simulator.stats().cancelled).toBe(before.cancelled + 1)
    },
  )

  test('split-N writes N bytes at a time and changes nothing else', async () => {
    const simulator = createSimulator()
    const response = await simulator.fetch(request(chat('split-7')))
    const chunks: Uint8Array[] = []
    for await (const chunk of response.body ?? []) chunks.push(chunk)
    expect(Math.max(...chunks.map(chunk => chunk.byteLength))).toBe(7)
    expect(Buffer.concat(chunks).toString()).toEndWith('data: [DONE]\n\n')
  })

  test('cut-N waits for its client in steps: one that stood still as the process did has read the events before the cut', async () => {
    let steps = 0
    const simulator = createSimulator({
      sleep: async () => {
        steps += 1
      },
    })
    const response = await simulator.fetch(request(chat('cut-2')))
    expect(await response.text().catch(() => 'broken')).toBe('broken')
    expect(steps).toBeGreaterThanOrEqual(10)
  })

  test('cut-N lets N events through and breaks the connection, whole answers in their middle', async () => {
    const reader = (await post('/v1/chat/completions', chat('cut-2'))).body?.getReader()
    let text = ''
    const reading = (async () => {
      for (;;) {
        const chunk = await reader?.read()
        if (chunk === undefined || chunk.done) return 'ended'
        text += new TextDecoder().decode(chunk.value)
      }
    })()
    expect(await reading.catch(() => 'broken')).toBe('broken')
    expect(text.match(/^data: /gm)).toHaveLength(2)
    const whole = await post('/v1/chat/completions', chat('cut-1', { stream: false }))
    expect(await whole.text().catch(() => 'broken')).toBe('broken')
  })

  test('garbage is neither an event stream nor JSON', async () => {
    const text = await (await post('/v1/chat/completions', chat('garbage'))).text()
    expect(text).not.toMatch(/^data:/m)
    expect(() => JSON.parse(text)).toThrow()
  })

  test('an answer that fails before it begins has the status of its error', async () => {
    expect((await post('/v1/chat/completions', chat('error-midstream', { stream: false }))).status).toBe(503)
  })

  test('recordings hold the raw body and no key', async () => {
    const control = `${server.url}/__simulator/recordings`
    await fetch(control, { method: 'DELETE' })
    const body = '{"model":"echo", "messages":[{"role":"user","content":"1.50"}]}'
    await post('/v1/chat/completions?key=secret-query-9876', body)
    const [recording]: [Recording] = JSON.parse(await (await fetch(control)).text())
    expect(recording).toMatchObject({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: '***1234' },
    })
    expect(recording.query).toContain('9876')
    expect(JSON.stringify(recording)).not.toMatch(/secret|test-key/)
    expect(Buffer.from(recording.bodyBase64, 'base64').toString()).toBe(body)
    await fetch(control, { method: 'DELETE' })
    expect(await (await fetch(control)).json()).toEqual([])
  })

  test('without recording only requests that ask for it are kept', async () => {
    const simulator = createSimulator()
    await simulator.fetch(request(chat('echo')))
    const asked = request(chat('echo'))
    asked.headers.set('x-simulator-record', '1')
    await simulator.fetch(asked)
    expect(simulator.recordings.all()).toHaveLength(1)
  })

  test.each([
    ['openai', { authorization: 'Bearer k' }, { object: 'list', data: [{ id: 'echo', object: 'model' }] }],
    [
      'anthropic',
      { authorization: 'Bearer k', 'anthropic-version': '2023-06-01' },
      { data: [{ id: 'echo', type: 'model' }], has_more: false },
    ],
    ['google', { 'x-goog-api-key': 'k' }, { models: [{ name: 'models/echo' }] }],
  ])('models are listed in the shape of %s', async (_, headers, shape) => {
    const list: unknown = await (await fetch(`${server.url}/v1/models`, { headers })).json()
    const firstOnly = JSON.parse(JSON.stringify(list), (_key, value) =>
      Array.isArray(value) ? value.slice(0, 1) : value,
    )
    expect(firstOnly).toMatchObject(shape)
    expect((await fetch(`${server.url}/v1/models/vendor%2Flong-5`, { headers })).status).toBe(200)
    expect((await fetch(`${server.url}/v1/models/gpt-4`, { headers })).status).toBe(404)
  })

  test('an unknown path and a broken body are errors in JSON', async () => {
    expect((await post('/v1/nothing', {})).status).toBe(404)
    const broken = await post('/v1/messages', '{')
    expect(broken.status).toBe(400)
    expect(await broken.json()).toMatchObject({ type: 'error' })
  })
})
