import { expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { CrossOrigin } from '@/surfaces/cross-origin.ts'
import { CALLS, call, SURFACES } from './calls.ts'

const APP = 'app://obsidian.md'

const gateway = await fileGateway({ corsOrigins: ['https://a.example', APP] })

/** What a browser asks for a page that would use an official SDK. */
function preflight(path: string, origin: string): Request {
  return new Request(`${gateway.url}${path}`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-stainless-os',
    },
  })
}

test.each(SURFACES)(
  '%s: a page that may call is let through, and reads answers and errors',
  async surface => {
    const asked = await fetch(preflight(CALLS[surface].path('echo'), APP))
    expect(asked.status).toBe(204)
    expect(asked.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(asked.headers.get('access-control-allow-origin')).toBe(APP)
    expect(asked.headers.get('access-control-allow-methods')).toContain('POST')
    expect(asked.headers.get('access-control-allow-headers')).toBe(
      'authorization,content-type,x-stainless-os',
    )
    for (const key of [gateway.key, 'sk-wrong']) {
      const answer = await call(gateway, surface, { key, headers: { origin: APP } })
      expect(answer.status).toBe(key === gateway.key ? 200 : 401)
      expect(answer.headers.get('access-control-allow-origin')).toBe(APP)
      expect(answer.headers.get('access-control-expose-headers')).toBe('*')
      expect(answer.headers.get('vary')).toContain('origin')
    }
  },
)

test.each(['https://b.example', 'https://a.example.evil', 'null'])(
  'a page of %s is told nothing',
  async origin => {
    expect((await fetch(preflight('/v1/messages', origin))).status).toBe(404)
    const answer = await call(gateway, 'chat', { headers: { origin } })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    expect(answer.headers.get('vary')).toBe('origin')
  },
)

test('every page may call where the operator says so', () => {
  const everybody = new CrossOrigin(['*'])
  const asked = everybody.preflight(preflight('/v1/messages', 'null'))
  expect(asked?.headers.get('access-control-allow-origin')).toBe('*')
  const answer = new Response()
  everybody.allow(new Request(gateway.url, { headers: { origin: 'https://b.example' } }), answer)
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer.headers.get('vary')).toBeNull()
})

test('what no page asks is answered as ever, and a cache is told that a page gets another answer', async () => {
  expect((await fetch(`${gateway.url}/v1/messages`, { method: 'OPTIONS' })).status).toBe(404)
  const asked = new Request(preflight('/v1/messages', APP), { method: 'POST' })
  expect(new CrossOrigin([APP]).preflight(asked)).toBeUndefined()
  const answer = await call(gateway, 'chat')
  expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  expect(answer.headers.get('vary')).toBe('origin')
})
