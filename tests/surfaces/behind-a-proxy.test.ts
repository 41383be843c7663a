import { describe, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { call, readError } from './calls.ts'

const gateway = await fileGateway({ trustedProxies: ['127.0.0.0/8', '::1'] })
const { accountId } = gateway
const allowIps = ['192.0.2.0/24']
const key = (await gateway.keys.createKey({ accountId, name: 'office', allowIps })).key

const ALLOWED = '203.0.113.5, 192.0.2.9'
const FORGED = '192.0.2.9, 203.0.113.5'

describe('behind a trusted proxy, a key that is for some addresses', () => {
  test.each<[string, Record<string, string>]>([
    ['a request', {}],
    ['an idempotent one', { 'idempotency-key': 'once' }],
  ])('serves %s of whom the proxy heard, not of whom the caller names', async (_what, headers) => {
    const from = (forwarded: string) =>
      call(gateway, 'chat', { key, headers: { ...headers, 'x-forwarded-for': forwarded } })
    const refused = await readError(await from(FORGED), 'chat')
    expect(refused).toMatchObject({ status: 403, code: 'ip_not_allowed' })
    expect((await from(ALLOWED)).status).toBe(200)
  })

  test('serves every frame of a WebSocket that was opened from one of them', async () => {
    const opened = (forwarded: string) =>
      new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/responses`, {
        headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': forwarded },
      } as never)
    await new Promise(resolve => opened(FORGED).addEventListener('error', resolve))
    const socket = opened(ALLOWED)
    const types: unknown[] = []
    const ended = new Promise<void>(resolve => {
      socket.addEventListener('message', ({ data }) => {
        types.push(JSON.parse(String(data)).type)
        if (types.at(-1) === 'response.completed' || types.at(-1) === 'error') resolve()
      })
    })
    socket.addEventListener('open', () => {
      socket.send(JSON.stringify({ type: 'response.create', model: 'responses/echo', input: 'hello' }))
    })
    await ended
    socket.close()
    expect(types.at(-1)).toBe('response.completed')
  })
})
