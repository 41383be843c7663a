import { beforeEach, describe, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { startTestGateway } from '#tests/support/gateway/gateway.ts'
import { least } from '#tests/support/least.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { temporaryFiles } from '#tests/support/temporary-files.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import {
  eventStream,
  fedStream,
  type SeenRequest,
  until,
  untilAborted,
} from '#tests/support/upstreams/upstream.ts'
import { audit } from '@/ledger/audit.ts'
import { readReceipt } from '@/ledger/receipt.ts'

/** The way that every operation shares, shown on those that are at hand: a whole answer and a stream. */

let answer: (request: SeenRequest) => Response | Promise<Response> = () => new Response(null, { status: 500 })
const upstream = fileUpstream(request => answer(request))

const gateway = await fileGateway()
const channel = (name: string, format: string, more = '') =>
  `  - { name: ${name}, format: ${format}, base_url: "${upstream.url}/${name}", api_keys: [k], allow_private: true${more} }`
await gateway.apply(`
channels:
${channel('one', 'openai-responses')}
${channel('two', 'openai-chat-completions', ', priority: 1')}
${channel('own', 'openai-responses')}
${channel('foreign', 'gemini-generate-content')}
models:
  - { id: one, channels: [{ channel: one, model: m }], prices: { input: 1, per_image: { default: 0.04 } } }
  - { id: two, channels: [{ channel: one, model: m }, { channel: two, model: m }], prices: { input: 1, per_image: { default: 0.04 } } }
  - { id: ordered, channels: [{ channel: foreign, model: m }, { channel: own, model: m }], prices: { input: 1 } }
`)
beforeEach(() => {
  upstream.seen.length = 0
})

const EMBEDDING = { data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 3, total_tokens: 3 } }
const IMAGE = { created: 1, data: [{ b64_json: 'AA==' }], size: '1024x1024' }

const CALLS = {
  whole: { path: '/v1/embeddings', body: (model: string) => ({ model, input: 'x' }) },
  stream: { path: '/v1/images/generations', body: (model: string) => ({ model, prompt: 'x', stream: true }) },
} as const

const call = (kind: keyof typeof CALLS, model: string, init: RequestInit = {}) =>
  fetch(gateway.url + CALLS[kind].path, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(CALLS[kind].body(model)),
    ...init,
  })

/** JSON of a test's own making, to look anywhere into. */
const jsonOf = async (response: Response) => JSON.parse(await response.text())

const holds = async () => (await gateway.database.sql`select * from hold`).length

test('what a stream has cost so far is noted while it flows, in case this process dies', async () => {
  const fed = fedStream()
  answer = () => eventStream(fed.stream)
  const running = call('stream', 'one')
  fed.write(`data: ${JSON.stringify({ type: 'image_generation.partial_image', b64_json: 'AA==' })}\n\n`)
  const response = await running
  await until(async () => {
    const [hold] = await gateway.database.sql`select progress, amount from hold`
    return BigInt(hold?.['progress'] ?? 0) > 0n
  })
  fed.close()
  await response.text()
  await gateway.server.flush()
  expect(await holds()).toBe(0)
})

describe('a caller who leaves', () => {
  test.each(['whole', 'stream'] as const)(
    'before the head of a %s: the upstream is left within 100 ms, nothing is charged',
    async kind => {
      answer = () => new Promise<Response>(() => {})
      const leave = async () => {
        const before = upstream.seen.length
        const abort = new AbortController()
        const running = call(kind, 'one', { signal: abort.signal }).catch(() => undefined)
        await until(() => upstream.seen.length > before)
        const ms = await untilAborted(upstream, abort)
        await running
        return ms
      }
      expect(await least(100, leave)).toBeLessThan(100)
      await until(async () => (await gateway.lastExchange())?.['end_state'] === 'client_gone')
      expect(await gateway.lastExchange()).toMatchObject({ status: 499, cost_nano: null })
      await until(async () => (await holds()) === 0)
    },
  )

  test('in the middle of a stream: the upstream is left within 100 ms, and what was shown is charged', async () => {
    const leave = async () => {
      const fed = fedStream()
      answer = () => eventStream(fed.stream)
      fed.write('data: {"type":"image_generation.partial_image","b64_json":"AA=="}\n\n')
      const abort = new AbortController()
      const response = await call('stream', 'one', { signal: abort.signal })
      await response.body?.getReader().read()
      return untilAborted(upstream, abort)
    }
    expect(await least(100, leave)).toBeLessThan(100)
    await until(async () => (await gateway.lastExchange())?.['end_state'] === 'client_gone')
    expect(await gateway.lastExchange()).toMatchObject({ status: 499, usage_source: 'estimated' })
    await until(async () => (await holds()) === 0)
  })
})

describe('an upstream that fails', () => {
  test.each([
    ['500', () => new Response('{}', { status: 500 })],
    ['429', () => new Response('{}', { status: 429 })],
    ['401', () => new Response('{}', { status: 401 })],
    ['an error inside a 200', () => Response.json({ error: { message: 'no', code: 500 } })],
    ['no JSON', () => new Response('<html>')],
  ])('with %s gives way to the next, which alone is paid', async (_, failing) => {
    answer = ({ path }) => (path.startsWith('/one') ? failing() : Response.json(EMBEDDING))
    const response = await call('whole', 'two')
    expect(response.status).toBe(200)
    expect(await gateway.lastExchange()).toMatchObject({ channel: 'two', cost_nano: 3000n })
  })

  test('a stream that fails before its first output gives way as well', async () => {
    answer = ({ path }) =>
      path.startsWith('/one')
        ? eventStream('data: {"error":{"message":"no","code":503}}\n\n')
        : eventStream('data: {"type":"image_generation.completed","b64_json":"AA==","size":"1024x1024"}\n\n')
    const response = await call('stream', 'two')
    expect(await response.text()).toContain('image_generation.completed')
    expect(await gateway.lastExchange()).toMatchObject({ channel: 'two', end_state: 'complete' })
  })

  test('the caller is told of an error that is only words, inside a 200', async () => {
    answer = () => Response.json({ error: 'the model is out of order' })
    const response = await call('whole', 'one')
    expect(response.status).toBe(502)
    expect((await jsonOf(response)).error).toMatchObject({
      message: expect.stringContaining('the model is out of order'),
    })
  })

  test("the upstream's complaint about the request comes back with its status, and is free", async () => {
    answer = () =>
      Response.json({ error: { message: 'too long', param: 'input', code: 'x' } }, { status: 422 })
    const response = await call('whole', 'two')
    expect(response.status).toBe(422)
    expect((await jsonOf(response)).error).toMatchObject({
      message: expect.stringMatching(/^too long \(request id: [0-9a-f-]{36}\)$/),
      param: 'input',
      code: 'x',
    })
    expect(upstream.seen).toHaveLength(1)
    expect(await gateway.lastExchange()).toMatchObject({ cost_nano: null, end_state: 'upstream_error' })
  })
})

test('an upstream of the same API comes before one that needs conversion', async () => {
  answer = () => Response.json(EMBEDDING)
  for (let round = 0; round < 5; round += 1) await call('whole', 'ordered')
  expect(upstream.seen.map(({ path }) => path)).toEqual(Array(5).fill('/own/v1/embeddings'))
})

test('while the process drains, nothing new is begun', async () => {
  gateway.server.gateway.draining = true
  const response = await call('whole', 'one')
  gateway.server.gateway.draining = false
  expect([response.status, (await jsonOf(response)).error.code]).toEqual([503, 'shutting_down'])
  expect(upstream.seen).toEqual([])
})

test('the receipt of an image says what it was made of, and the audit agrees with all of them', async () => {
  answer = () => Response.json(IMAGE)
  const response = await gateway.post('/v1/images/generations', { model: 'one', prompt: 'four' })
  // One token of text at 1 a million, one image at 0.04.
  expect(response.headers.get('x-tollgate-cost')).toBe('0.040001000')
  await gateway.exchanges()
  const receipt = await readReceipt(gateway.database, response.headers.get('x-request-id') ?? '')
  expect(receipt?.exchange).toMatchObject({
    surface: 'images',
    inputUncached: 1,
    outputText: 0,
    extras: { images: { '1024x1024': 1 } },
    costNano: 40_001_000n,
  })
  expect(receipt?.movements.map(({ kind, amountNano }) => [kind, amountNano])).toEqual([
    ['usage', -40_001_000n],
  ])
  const report = await audit(gateway.database.url)
  expect(report.checks.filter(({ count, informational }) => count > 0 && !informational)).toEqual([])
  expect(report.ok).toBe(true)
})

test('with an Idempotency-Key an edit runs once and is billed once, whatever boundary its form has', async () => {
  answer = () => Response.json(IMAGE)
  const edit = () => {
    const form = new FormData()
    form.append('image', new File([new Uint8Array(100_000).fill(3)], 'a.png', { type: 'image/png' }))
    form.append('model', 'one')
    form.append('prompt', 'x')
    return gateway.post('/v1/images/edits', form, { headers: { 'idempotency-key': 'edit-1' } })
  }
  const charges = async () => {
    await gateway.exchanges()
    return (await gateway.database.sql`select * from entry where kind = 'usage'`).length
  }
  const before = await charges()
  const first = await edit()
  const second = await edit()
  expect(await second.text()).toBe(await first.text())
  expect(second.headers.get('x-request-id')).toBe(first.headers.get('x-request-id'))
  expect(upstream.seen).toHaveLength(1)
  expect((await charges()) - before).toBe(1)
})

test.skipIf(process.platform !== 'linux')(
  'the files of a form are gone once its exchange is over, whether it was served, failed or was refused',
  async () => {
    const before = temporaryFiles()
    const statusOf = async (fields: Readonly<Record<string, string>>) => {
      const form = new FormData()
      form.append('image', new File([new Uint8Array(100_000)], 'a.png', { type: 'image/png' }))
      for (const [name, value] of Object.entries(fields)) form.append(name, value)
      const headers = { authorization: `Bearer ${gateway.key}` }
      return (await fetch(`${gateway.url}/v1/images/edits`, { method: 'POST', headers, body: form })).status
    }
    let openAtUpstream = 0
    answer = () => {
      openAtUpstream = temporaryFiles()
      return Response.json(IMAGE)
    }
    expect(await statusOf({ model: 'one', prompt: 'x' })).toBe(200)
    expect(openAtUpstream).toBe(before + 1)
    answer = () => new Response('no', { status: 400 })
    expect(await statusOf({ model: 'one', prompt: 'x' })).toBe(400)
    expect(await statusOf({ prompt: 'no model' })).toBe(400)
    expect(await statusOf({ model: 'nobody-has-it', prompt: 'x' })).toBe(400)
    await until(() => temporaryFiles() === before)
  },
)

describe('an upstream that is silent', () => {
  const clock = manualClock()
  test('is given up after its time', async () => {
    const slow = await startTestGateway({
      clock,
      upstreams: { chat: upstream.url },
      channelOptions: 'timeouts: { first_byte_ms: 5000, idle_ms: 2000 }',
    })
    try {
      answer = () => new Promise<Response>(() => {})
      const running = fetch(`${slow.url}/v1/embeddings`, {
        method: 'POST',
        headers: { authorization: `Bearer ${slow.key}` },
        body: '{"model":"chat/echo","input":"x"}',
      })
      await until(() => upstream.seen.length > 0)
      clock.advance(5001)
      const response = await running
      expect([response.status, (await jsonOf(response)).error.code]).toEqual([504, 'upstream_timeout'])
    } finally {
      await slow.close()
    }
  }, 60_000)
})
