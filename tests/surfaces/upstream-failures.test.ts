import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { startTestGateway, type TestGateway } from '#tests/support/gateway/gateway.ts'
import { CALLS, call, readError, START_MS, SURFACES, type Surface } from './calls.ts'

/** An upstream's status, and what the caller gets: its status and, where it is ours, its code. */
const STATUSES: readonly (readonly [number, number, string | undefined])[] = [
  [400, 400, undefined],
  [401, 502, 'upstream_auth'],
  [402, 502, 'upstream_auth'],
  [403, 502, 'upstream_auth'],
  [404, 404, undefined],
  [413, 413, undefined],
  [422, 422, undefined],
  [429, 429, undefined],
  [500, 502, 'upstream_error'],
  [502, 502, 'upstream_error'],
  [503, 503, 'upstream_error'],
  [529, 503, 'upstream_error'],
]

const models = SURFACES.flatMap(surface =>
  [402, 403, 413, 422, 502].map(
    status =>
      `\n  - { id: "${surface}/error-${status}", channels: [{ channel: ${surface}, model: "error-${status}" }] }`,
  ),
)
const gateway = await fileGateway({
  models: `${models.join('')}\n  - id: unpriced\n    channels: [{ channel: chat, model: echo }]`,
})

function callStreamed(surface: Surface, model: string): Promise<Response> {
  const path = CALLS[surface].path(model).replace(':generateContent', ':streamGenerateContent?alt=sse')
  const body = CALLS[surface].body(model)
  return gateway.post(path, surface === 'gemini' ? body : { ...body, stream: true })
}

describe.each(SURFACES.flatMap(surface => SURFACES.map(upstream => [surface, upstream] as const)))(
  'a %s caller of a %s upstream',
  (surface, upstream) => {
    test.each(STATUSES)('that answers %i gets %i', async (status, expected, code) => {
      const model = `${upstream}/error-${status}`
      for (const response of [await call(gateway, surface, { model }), await callStreamed(surface, model)]) {
        const error = await readError(response, surface)
        expect(error.status).toBe(expected)
        if (code !== undefined) expect(error.code).toBe(code)
        expect(error.message).not.toMatch(/127\.0\.0\.1|upstream-key|http:/)
        expect(error.message).toContain('Simulated')
        if (status === 429) expect(response.headers.get('retry-after')).toBe('1')
        if (expected >= 500) expect(response.headers.get('x-should-retry')).toBe('false')
      }
    })

    test('that answers with garbage gets 502', async () => {
      const error = await readError(await call(gateway, surface, { model: `${upstream}/garbage` }), surface)
      expect(error).toMatchObject({ status: 502, code: 'upstream_error' })
    })

    test('that breaks off a whole answer gets 502', async () => {
      const error = await readError(await call(gateway, surface, { model: `${upstream}/cut-3` }), surface)
      expect(error).toMatchObject({ status: 502, code: 'upstream_error' })
    })
  },
)

describe('an upstream that is not there', () => {
  /** No name at all, so that no resolver is asked, which may take its time to say no. */
  const nobody = `${'x'.repeat(64)}.invalid`
  let away: TestGateway
  let silent: TestGateway
  beforeAll(async () => {
    away = await startTestGateway({
      upstreams: { gemini: 'http://127.0.0.1:1', responses: `http://${nobody}` },
    })
    silent = await startTestGateway({ channelOptions: 'timeouts: { first_byte_ms: 100 }' })
  }, START_MS)
  afterAll(async () => {
    await away.close()
    await silent.close()
  })

  test.each(SURFACES)(
    "answers a %s caller 502 where nobody listens or the name is nobody's",
    async surface => {
      for (const model of ['gemini/echo', 'responses/echo']) {
        const error = await readError(await call(away, surface, { model }), surface)
        expect(error).toMatchObject({ status: 502, code: 'upstream_error' })
        expect(error.message).not.toMatch(/127\.0\.0\.1|\.invalid/)
      }
    },
  )

  test.each(SURFACES)('answers a %s caller 504 where the head does not come in time', async surface => {
    const error = await readError(await call(silent, surface, { model: 'chat/hang' }), surface)
    expect(error).toMatchObject({ status: 504, code: 'upstream_timeout' })
  })
})

test.each(SURFACES)('a model without prices is 503 no_channel for good: %s', async surface => {
  const response = await call(gateway, surface, { model: 'unpriced' })
  expect(response.headers.get('x-should-retry')).toBe('false')
  expect(await readError(response, surface)).toMatchObject({ status: 503, code: 'no_channel' })
})

test.each(SURFACES)('a gateway that shuts down answers a %s caller 503', async surface => {
  gateway.server.gateway.draining = true
  try {
    const error = await readError(await call(gateway, surface), surface)
    expect(error).toMatchObject({ status: 503, code: 'shutting_down' })
  } finally {
    gateway.server.gateway.draining = false
  }
})
