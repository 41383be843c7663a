import { beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { fileGateway } from '#tests/support/gateway/file-gateway.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { asObject, parseObject } from '@/json/json.ts'
import { BodyRoom } from '@/limits/body-room.ts'

const fetched: string[] = []
/** What each was taken to be before it came. */
const expected: (string | undefined)[] = []
/** How much each might be, at the most. */
const allowed: number[] = []

const gateway = await fileGateway({
  models: `  - { id: mixed, channels: [{ channel: gemini, model: error-500, priority: 0 }, { channel: responses, model: echo, priority: 1 }] }
  - { id: twice, channels: [{ channel: gemini, model: error-500, priority: 0 }, { channel: gemini, model: echo, priority: 1 }] }`,
})
gateway.server.gateway.fetchMedia = async ({ url, mediaType, maxBytes, onBytes }) => {
  fetched.push(url)
  expected.push(mediaType)
  allowed.push(maxBytes)
  if (url.includes('private')) {
    throw new GatewayError('invalid_request', 'Media at an address of this request: it could not be fetched')
  }
  if (url.includes('large')) onBytes(20_000_000)
  return { mediaType: url.endsWith('.pdf') ? 'application/pdf' : 'image/png', bytes: Buffer.from('bytes') }
}

beforeEach(() => {
  fetched.length = 0
  expected.length = 0
  allowed.length = 0
})

const allow = (yes: boolean) => gateway.apply(`fetch_media: ${yes}`)

const IMAGE = 'http://public.example/a.png'
const DOCUMENT = 'https://public.example/a.pdf'

function withImage(model: string, ...urls: string[]) {
  return gateway.post('/v1/chat/completions', {
    model,
    max_tokens: 100,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          ...urls.map(url => ({ type: 'image_url', image_url: { url } })),
        ],
      },
    ],
  })
}

function withDocument(model: string) {
  return gateway.post('/v1/messages', {
    model,
    max_tokens: 100,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'document', source: { type: 'url', url: DOCUMENT } },
        ],
      },
    ],
  })
}

describe('without fetch_media', () => {
  test.each([
    ['an http image, which Gemini does not fetch', () => withImage('gemini/echo', IMAGE)],
    ['a document that Chat has no place for', () => withDocument('chat/echo')],
  ])('%s is a 400, and nothing is fetched', async (_, call) => {
    await allow(false)
    const response = await call()
    expect(response.status).toBe(400)
    expect(asObject(parseObject(await response.text())?.['error'])).toMatchObject({
      code: 'unsupported_parameter',
    })
    expect(fetched).toEqual([])
  })
})

describe('with fetch_media', () => {
  beforeAll(() => allow(true))
  const BASE64 = Buffer.from('bytes').toString('base64')

  test('what the format cannot take by address goes up as data', async () => {
    expect((await withImage('gemini/echo', IMAGE)).status).toBe(200)
    expect(fetched).toEqual([IMAGE])
    expect(gateway.lastSent()).toContain(BASE64)
    expect((await withDocument('chat/echo')).status).toBe(200)
    expect(fetched).toEqual([IMAGE, DOCUMENT])
    expect(gateway.lastSent()).toContain(`data:application/pdf;base64,${BASE64}`)
  })

  test('where its server does not say what it is, the end of its address does', async () => {
    await withImage('gemini/echo', `${IMAGE}?size=1`)
    await withDocument('chat/echo')
    expect(expected).toEqual(['image/png', 'application/pdf'])
  })

  test.each([
    ['messages/echo', IMAGE],
    ['responses/echo', IMAGE],
    ['gemini/echo', 'https://public.example/a.png'],
    ['chat/echo', IMAGE],
  ])('an address that %s can take is passed on as it is', async (model, url) => {
    expect((await withImage(model, url)).status).toBe(200)
    expect(fetched).toEqual([])
    expect(gateway.lastSent()).toContain(url)
  })

  test('only the channel that needs the data gets it', async () => {
    expect((await withImage('mixed', IMAGE)).status).toBe(200)
    expect(fetched).toEqual([IMAGE])
    const upstream = gateway.lastSent()
    expect(upstream).toContain(IMAGE)
    expect(upstream).not.toContain(BASE64)
  })

  test("what cannot be fetched is the caller's 400, and no channel is asked", async () => {
    const response = await withImage('gemini/echo', 'http://private.example/a.png')
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('could not be fetched')
    expect(await gateway.lastExchange()).toMatchObject({ end_state: 'refused', cost_nano: null })
  })

  test('what was fetched for one route is there for the next', async () => {
    expect((await withImage('twice', IMAGE)).status).toBe(200)
    expect(fetched).toEqual([IMAGE])
  })

  test('there is a limit to what all of a request are together', async () => {
    expect((await withImage('gemini/echo', IMAGE, `${IMAGE}?2`)).status).toBe(200)
    expect(allowed).toEqual([50 * 1024 * 1024, 50 * 1024 * 1024 - 5])
  })

  test('for what is large there has to be memory, as for a large body', async () => {
    const { bodyRoom } = gateway.server.gateway
    const clock = manualClock()
    const room = { clock, usedBytes: () => 0, mostBytes: 100_000_000, onRefused: () => undefined }
    gateway.server.gateway.bodyRoom = new BodyRoom(room)
    const large = () => withImage('gemini/echo', `${IMAGE}?large`)
    const statuses = [(await large()).status]
    const refused = await large()
    const small = await withImage('gemini/echo', IMAGE)
    clock.advance(1_000)
    statuses.push((await large()).status)
    gateway.server.gateway.bodyRoom = bodyRoom
    expect(statuses).toEqual([200, 200])
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('2')
    expect(asObject(parseObject(await refused.text())?.['error'])).toMatchObject({ code: 'overloaded' })
    expect(small.status).toBe(200)
  })

  test('there is a limit to how many', async () => {
    const urls = Array.from({ length: 21 }, (_, index) => `http://public.example/${index}.png`)
    const response = await withImage('gemini/echo', ...urls)
    expect(response.status).toBe(400)
    expect(fetched).toEqual([])
    expect((await withImage('gemini/echo', ...urls.slice(1))).status).toBe(200)
    expect(fetched).toHaveLength(20)
  })
})
