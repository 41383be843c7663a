import { expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'

const gateway = await fileGateway()

const CALLS = [
  ['/v1/chat/completions', { model: 'chat/echo', messages: [{ role: 'user', content: 'hi' }] }],
  ['/v1/messages', { model: 'chat/echo', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }],
] as const

test.each(CALLS)(
  '%s: a key that cannot be looked up is a 503 to try again, no 401 and no 500',
  async (path, body) => {
    const { authenticate } = gateway.server.gateway
    gateway.server.gateway.authenticate = () => Promise.reject(new Error('write CONNECTION_CLOSED'))
    const response = await gateway.post(path, body)
    gateway.server.gateway.authenticate = authenticate
    expect(response.status).toBe(503)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    const text = await response.text()
    expect(text).toContain('billing_unavailable')
    expect(text).not.toContain('CONNECTION_CLOSED')
  },
)

/** Runs `act` while nobody gets an answer to what they ask of a table: as a database that hangs. */
async function whileItHangs(table: string, act: () => Promise<void>): Promise<void> {
  const holder = await gateway.database.sql.reserve()
  await holder`begin`
  await holder`lock table ${holder(table)} in access exclusive mode`
  try {
    await act()
  } finally {
    await holder`rollback`
    holder.release()
  }
}

function complete(headers: Record<string, string>): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify(CALLS[0][1]),
    signal: AbortSignal.timeout(20_000),
  })
}

test('a database that hangs keeps nobody waiting for the look-up of a key', async () => {
  const { key } = await gateway.keys.createKey({ accountId: gateway.accountId, name: 'new' })
  await whileItHangs('api_key', async () => {
    const unknown = await complete({ authorization: `Bearer ${key}` })
    expect(unknown.status).toBe(503)
    expect(Number(unknown.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await unknown.text()).toContain('billing_unavailable')
  })
  expect((await complete({ authorization: `Bearer ${key}` })).status).toBe(200)
})

test('nor for whether a request was made before, without which it is not made', async () => {
  const asked = { authorization: `Bearer ${gateway.key}`, 'idempotency-key': crypto.randomUUID() }
  await whileItHangs('idempotent_run', async () => {
    const response = await complete(asked)
    expect(response.status).toBe(503)
    expect(await response.text()).toContain('billing_unavailable')
  })
})

test.each([
  ['GET', '/v1/videos'],
  ['GET', `/v1/videos/video_${'0'.repeat(32)}`],
  ['DELETE', `/v1/videos/video_${'0'.repeat(32)}`],
  ['POST', `/v1/videos/video_${'0'.repeat(32)}/remix`],
  ['GET', `/v1beta/models/veo/operations/${'0'.repeat(32)}`],
] as const)('nor for a video: %s %s', async (method, path) => {
  await whileItHangs('video_job', async () => {
    const response = await fetch(gateway.url + path, {
      method,
      headers: { authorization: `Bearer ${gateway.key}` },
      signal: AbortSignal.timeout(20_000),
    })
    expect(response.status).toBe(503)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

test('readiness says so when the ledger admits nothing', async () => {
  const { ledger } = gateway.server.gateway
  const ready = () => fetch(`${gateway.opsUrl}/readyz`)
  expect((await ready()).status).toBe(200)
  gateway.server.gateway.ledger = {
    ...ledger,
    state: () => ({ ...ledger.state(), healthy: false, journal: 'full' }),
  }
  const response = await ready()
  gateway.server.gateway.ledger = ledger
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({ status: 'unready', reason: 'the journal cannot be written' })
})
