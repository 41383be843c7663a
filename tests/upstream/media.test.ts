import { beforeEach, describe, expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import { fedStream, type Script, until } from '#tests/support/upstreams/upstream.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { type AddressGuard, createAddressGuard, type Lookup } from '@/upstream/address-guard.ts'
import { createMediaFetch, MEDIA_MS, type MediaRequest } from '@/upstream/media.ts'
import { PINNED_NAME, servePinned } from './pinned-server.ts'

const PIXEL = new Uint8Array([0x89, 0x50, 0x4e, 0x47])
const image = (body: string | Uint8Array<ArrayBuffer> = PIXEL, type = 'image/png') =>
  new Response(body, { headers: { 'content-type': type } })

let script: Script = () => image()
const server = fileUpstream((request, signal) => script(request, signal))
const { port } = new URL(server.url)
beforeEach(() => {
  script = () => image()
  server.seen.length = 0
})

const PNG = { headers: { 'content-type': 'image/png' } }

const inside: Lookup = async () => ['127.0.0.1']
const half: Lookup = async () => ['8.8.8.8', '10.0.0.7']

/** The guard as it is, but for one name, which stands for a public host: it leads to the test's server. */
function guardWith(lookup: Lookup): AddressGuard {
  const guard = createAddressGuard({ clock: manualClock(), lookup })
  return {
    ...guard,
    dialPublic: async url => {
      const { hostname, host, pathname, search } = new URL(url)
      if (hostname !== 'public.example') return guard.dialPublic(url)
      return { url: `${server.url}${pathname}${search}`, headers: { host }, tls: undefined }
    },
  }
}

function get(url: string, more: Partial<MediaRequest> = {}, lookup = inside, clock = manualClock()) {
  const fetchMedia = createMediaFetch({ clock, guard: guardWith(lookup) })
  return fetchMedia({ ...imageAt(url), ...more })
}

function imageAt(url: string): MediaRequest {
  const { signal } = new AbortController()
  return { url, kind: 'image', mediaType: undefined, maxBytes: 1_000, onBytes: () => undefined, signal }
}

async function refusal(fetched: Promise<unknown>): Promise<GatewayError> {
  const error: unknown = await fetched.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof GatewayError)) throw new Error(`no refusal but ${error}`)
  expect(error).toMatchObject({ kind: 'invalid_request', status: 400, retry: 'never' })
  return error
}

test('what stands at a public address is fetched, with its type', async () => {
  script = () => image(PIXEL, 'Image/PNG; charset=binary')
  expect(await get('http://public.example/a.png?size=1')).toEqual({
    mediaType: 'image/png',
    bytes: Buffer.from(PIXEL),
  })
  expect(server.seen[0]).toMatchObject({ method: 'GET', path: '/a.png', query: '?size=1' })
})

test('what stands behind TLS is asked for, and its certificate checked, under the name that the caller gave', async () => {
  const pinned = await servePinned((_, response) =>
    response.setHeader('content-type', 'image/png').end(PIXEL),
  )
  const ask = (serverName: string) => {
    const dialPublic = async () => ({ url: pinned.url, headers: {}, tls: pinned.tlsOf(serverName) })
    const guard = { ...createAddressGuard({ clock: manualClock() }), dialPublic }
    return createMediaFetch({ clock: manualClock(), guard })(imageAt(`https://${serverName}/`))
  }
  expect((await ask(PINNED_NAME)).bytes).toEqual(Buffer.from(PIXEL))
  expect([...pinned.names]).toEqual([PINNED_NAME])
  expect((await refusal(ask('other.example.test'))).detail).toContain('ALTNAME')
  pinned.close()
})

test('nothing of the caller or the operator is sent along', async () => {
  await get('http://public.example/a.png')
  const names = [...(server.seen[0]?.headers.keys() ?? [])].toSorted()
  expect(names).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent'])
  expect(server.seen[0]?.headers.get('host')).toBe('public.example')
})

describe('a private network', () => {
  test.each([
    ['an address', `http://127.0.0.1:${port}/`],
    ['an address as one number', `http://2130706433:${port}/`],
    ['an address in hexadecimal', `http://0x7f.1:${port}/`],
    ['an IPv6 address', `http://[::1]:${port}/`],
    ['an IPv4 address in an IPv6 one', `http://[::ffff:127.0.0.1]:${port}/`],
    ['the metadata of clouds', 'http://169.254.169.254/latest/meta-data/'],
    ['a name', `http://inside.example:${port}/`],
    ['localhost', `http://localhost:${port}/`],
  ])('%s there is not fetched, and the caller learns nothing about it', async (_, url) => {
    const error = await refusal(get(url))
    expect(error.message).toBe('Media at an address of this request: it could not be fetched')
    expect(server.seen).toHaveLength(0)
  })

  test('one private address among public ones is enough', async () => {
    await refusal(get('http://half.example/', {}, half))
    expect(server.seen).toHaveLength(0)
  })

  test.each([
    ['an address', `http://127.0.0.1:${port}/secret`],
    ['a name', `http://inside.example:${port}/secret`],
    ['an address without a scheme', `//127.0.0.1:${port}/secret`],
  ])('a redirect to %s there is not followed', async (_, location) => {
    script = () => new Response(null, { status: 302, headers: { location } })
    await refusal(get('http://public.example/a.png'))
    expect(server.seen.map(({ path }) => path)).toEqual(['/a.png'])
  })
})

describe('redirects', () => {
  const to = (location: string) => new Response(null, { status: 307, headers: { location } })

  test('are followed to where the media is, relative ones too', async () => {
    script = ({ path }) =>
      path === '/a' ? to('/b') : path === '/b' ? to('http://public.example/c') : image()
    expect((await get('http://public.example/a')).mediaType).toBe('image/png')
  })

  test('end somewhere, or nothing comes of it', async () => {
    script = () => to('/again')
    expect((await refusal(get('http://public.example/a'))).message).toContain('more than 3 redirects')
    expect(server.seen).toHaveLength(4)
  })

  test.each(['file:///etc/passwd', 'data:image/png;base64,AAAA', 'ftp://public.example/a'])(
    'to %s are not followed',
    async location => {
      script = () => to(location)
      expect((await refusal(get('http://public.example/a'))).message).toContain('no http or https')
    },
  )
})

test.each([
  ['file:///etc/passwd', 'no http or https'],
  ['gopher://public.example/', 'no http or https'],
  ['not an address', 'no http or https'],
  ['http://user:secret@public.example/', 'user or a password'],
  ['http://user@public.example/', 'user or a password'],
])('%s is refused', async (url, why) => {
  expect((await refusal(get(url))).message).toContain(why)
  expect(server.seen).toHaveLength(0)
})

describe('what is there', () => {
  const elsewhere = (status: number) => new Response('no', { status, headers: { location: '/b' } })

  test.each([
    ['a page', 'image', image('<html>', 'text/html'), 'is text/html and not image'],
    ['a page as a document', 'document', image('<html>', 'text/html'), 'is text/html and not document'],
    ['another kind', 'audio', image(), 'is image/png and not audio'],
    ['nothing', 'image', image(''), 'is empty'],
    ['an error', 'image', new Response('no', { status: 404 }), 'answers with status 404'],
    ['an error that leads on', 'image', elsewhere(400), 'answers with status 400'],
    ['more than it says it may be', 'image', image(new Uint8Array(1_001)), 'larger than the 1000 bytes'],
  ] as const)('%s: refused', async (_, kind, response, why) => {
    script = () => response
    expect((await refusal(get('http://public.example/a', { kind }))).message).toContain(why)
  })

  test('as much as is allowed is taken', async () => {
    script = () => image(new Uint8Array(1_000))
    expect((await get('http://public.example/a')).bytes).toHaveLength(1_000)
  })

  test('more than is allowed is given up on the way, whatever length it claims', async () => {
    const fed = fedStream()
    script = () => new Response(fed.stream, { headers: { 'content-type': 'image/png' } })
    const fetched = get('http://public.example/a')
    await until(() => server.seen.length === 1)
    for (let written = 0; written <= 1_000; written += 100) fed.write(new Uint8Array(100))
    expect((await refusal(fetched)).message).toContain('larger than the 1000 bytes')
  })

  /** A body of a length that its server does not say. */
  const unsaid = (bytes: number) => {
    const fed = fedStream()
    fed.write(new Uint8Array(bytes))
    fed.close()
    return fed.stream
  }

  const PACKED = Bun.gzipSync(PIXEL)
  const packed = (body: Uint8Array<ArrayBuffer>, encoding = 'gzip') =>
    new Response(body, { headers: { 'content-type': 'image/png', 'content-encoding': encoding } })

  test.each([
    ['as long as it says', () => image(new Uint8Array(900)), 900],
    ['twice as long as what has come, at the most', () => new Response(unsaid(400), PNG), 800],
    ['as much as text unpacks to', () => packed(PACKED), 8 * PACKED.length],
    ['of any length, where it unpacks to more', () => packed(Bun.gzipSync(new Uint8Array(900))), 1_000],
  ])('before it is in memory, how much that will be is told: %s', async (_, answer, most) => {
    script = answer
    const told: number[] = []
    await get('http://public.example/a', { onBytes: bytes => void told.push(bytes) })
    expect(Math.max(...told)).toBe(most)
  })

  test('no more of it is read once there is no memory for it', async () => {
    const fed = fedStream()
    script = () => new Response(fed.stream, PNG)
    const full = new GatewayError('overloaded', 'no memory')
    const onBytes = (bytes: number) => {
      if (bytes > 100) throw full
    }
    const fetched = get('http://public.example/a', { onBytes }).catch(error => error)
    await until(() => server.seen.length === 1)
    fed.write(new Uint8Array(101))
    expect(await fetched).toBe(full)
    await fed.left
  })

  test('what comes packed, though nobody asked for that, is unpacked', async () => {
    script = () => packed(Bun.gzipSync(PIXEL))
    expect((await get('http://public.example/a')).bytes).toEqual(Buffer.from(PIXEL))
  })

  test('a few bytes that unpack to many are unpacked no further than to what is allowed', async () => {
    // Broken at its end, which only whoever unpacks all of it finds.
    script = () => packed(Bun.gzipSync(new Uint8Array(100_000)).fill(0xff, -10))
    expect((await refusal(get('http://public.example/a'))).message).toContain('larger than the 1000 bytes')
  })

  test.each([
    ['a way that nobody knows', () => packed(PIXEL, 'exi'), 'encoded in an unknown way'],
    ['two ways', () => packed(PIXEL, 'gzip, br'), 'encoded in an unknown way'],
    ['another way than it says', () => packed(PIXEL), 'could not be fetched'],
  ])('what is encoded in %s: refused', async (_, answer, why) => {
    script = answer
    expect((await refusal(get('http://public.example/a'))).message).toContain(why)
  })

  test.each([
    ['of no stated type', () => new Response(PIXEL)],
    ['of any type', () => image(PIXEL, 'application/octet-stream')],
    ['of any type, as S3 says it,', () => image(PIXEL, 'binary/octet-stream')],
  ])('bytes %s are what the caller says they are', async (_, answer) => {
    script = answer
    expect((await get('http://public.example/a', { mediaType: 'image/png' })).mediaType).toBe('image/png')
    await refusal(get('http://public.example/a'))
  })
})

describe('time', () => {
  test('is limited, also for a server that goes on sending', async () => {
    const fed = fedStream()
    script = () => new Response(fed.stream, { headers: { 'content-type': 'image/png' } })
    const clock = manualClock()
    const fetched = refusal(get('http://public.example/a', {}, inside, clock))
    await until(() => server.seen.length === 1)
    fed.write(PIXEL)
    clock.advance(MEDIA_MS)
    expect((await fetched).message).toContain('did not come within 10 s')
  })

  test('is limited, also for a name whose name server is silent', async () => {
    const clock = manualClock()
    const fetched = get('http://silent.example/a', {}, () => new Promise(() => {}), clock)
    clock.advance(MEDIA_MS)
    expect((await refusal(fetched)).message).toContain('did not come within 10 s')
  })

  test('ends when the caller leaves', async () => {
    script = () => new Promise<Response>(() => {})
    const caller = new AbortController()
    const fetched = get('http://public.example/a', { signal: caller.signal })
    await until(() => server.seen.length === 1)
    caller.abort(new Error('left'))
    await expect(fetched).rejects.toThrow('left')
  })
})
