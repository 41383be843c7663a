import { expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import type { Overload } from '@/limits/load.ts'

const gateway = await fileGateway({
  models: `  - { id: paced, channels: [{ channel: chat, model: "pace-20+long-20" }] }`,
})

/** Runs `work` in a process that has more to do than it can. */
async function overloaded<Result>(
  work: () => Promise<Result>,
  reason: Overload = 'event-loop',
): Promise<Result> {
  const { gateway: wired } = gateway.server
  const { load } = wired
  wired.load = { overload: () => reason, isCrowded: false }
  try {
    return await work()
  } finally {
    wired.load = load
  }
}

const CALLS = {
  chat: ['/v1/chat/completions', { error: { type: 'api_error', code: 'overloaded' } }],
  responses: ['/v1/responses', { error: { type: 'api_error', code: 'overloaded' } }],
  messages: ['/v1/messages', { type: 'error', error: { type: 'overloaded_error', code: 'overloaded' } }],
  'token counts': ['/v1/messages/count_tokens', { type: 'error', error: { type: 'overloaded_error' } }],
  gemini: ['/v1beta/models/gemini/echo:generateContent', { error: { code: 503, status: 'UNAVAILABLE' } }],
} as const

test.each(Object.entries(CALLS))(
  'new work on %s is a 503 with Retry-After, before the key is looked up or the body read',
  async (_, [path, shape]) => {
    await overloaded(async () => {
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { 'x-api-key': 'no such key', authorization: 'Bearer no such key' },
        body: 'no JSON',
      })
      expect(response.status).toBe(503)
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(3)
      expect(await response.json()).toMatchObject(shape)
    })
  },
)

test('an Idempotency-Key changes nothing of that', async () => {
  await overloaded(async () => {
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.key, 'idempotency-key': 'once' },
      body: 'no JSON',
    })
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } })
  })
})

test('a body that is still on its way is not waited for', async () => {
  await overloaded(async () => {
    const body = new ReadableStream({
      start: controller => controller.enqueue(new TextEncoder().encode('{"model":')),
    })
    const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body })
    expect(response.status).toBe(503)
  })
})

test('a stream that runs goes on to its end', async () => {
  const response = await gateway.post(
    '/v1/chat/completions',
    '{"model":"paced","stream":true,"messages":[{"role":"user","content":"hi"}]}',
  )
  expect(response.status).toBe(200)
  expect(await overloaded(() => response.text())).toEndWith('data: [DONE]\n\n')
})

test('the process stays ready, and says in its metrics what it turns away and why', async () => {
  await overloaded(async () => {
    await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body: '{}' })
    expect((await fetch(`${gateway.opsUrl}/readyz`)).status).toBe(200)
  }, 'sockets')
  const metrics = await (await fetch(`${gateway.opsUrl}/metrics`)).text()
  expect(metrics).toContain('tollgate_shed_total{reason="sockets"} 1')
  expect(metrics).toContain('tollgate_shed_share 0')
  expect(metrics).toMatch(/tollgate_event_loop_lag_seconds \d/)
})
