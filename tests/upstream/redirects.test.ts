import { expect, test } from 'bun:test'
import { channelOf } from '#tests/support/channels.ts'
import { fileUpstream } from '#tests/support/upstreams/file-upstream.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { systemClock } from '@/clock/clock.ts'
import type { AddressGuard } from '@/upstream/address-guard.ts'
import { createUpstreamClient } from '@/upstream/client.ts'
import { downloadRules } from '@/upstream/download.ts'
import { followRedirects } from '@/upstream/redirects.ts'
import { PINNED_NAME, servePinned } from './pinned-server.ts'

const store = fileUpstream(({ path, headers }) =>
  path === '/never' ? new Promise<Response>(() => {}) : new Response(`film ${headers.get('range') ?? ''}`),
)
const vendor = fileUpstream(({ path, query }) => {
  const to = new URLSearchParams(query).get('to') ?? path.replace('/v1beta/files/', '')
  if (path.endsWith('/end')) return new Response('end')
  if (to.startsWith('elsewhere')) return Response.redirect(`${store.url}/film`, 302)
  if (to.startsWith('slow')) return Response.redirect(`${store.url}/never`, 302)
  if (to.startsWith('inside')) return Response.redirect('http://10.0.0.1/film', 302)
  if (to.startsWith('file'))
    return new Response(null, { status: 302, headers: { location: 'file:///etc/passwd' } })
  if (to.startsWith('riddle')) return new Response(null, { status: 302, headers: { location: 'http://[' } })
  if (to.startsWith('nothing')) return new Response(null, { status: 302 })
  if (to.startsWith('loop')) return Response.redirect(`${vendor.url}/v1beta/files/loop`, 302)
  return Response.redirect(`${vendor.url}/v1beta/files/end`, 307)
})

/** Takes the second server for a public one. */
const guard: AddressGuard = {
  dial: async (_, url) => ({ url, headers: {}, tls: undefined }),
  recall: () => undefined,
  dialPublic: async url => {
    if (new URL(url).hostname === '10.0.0.1') throw new Error('private')
    return { url, headers: {}, tls: undefined }
  },
  forget: () => undefined,
}

const channel = channelOf(1, {
  format: 'gemini-generate-content',
  baseUrl: vendor.url,
  headers: { 'x-team': 'secret-team' },
  timeouts: { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000 },
  allowPrivate: true,
})

const client = createUpstreamClient({ clock: systemClock, guard, simulatorUrl: () => '' })

/** What every byte of a file is asked for with. */
const ASKED = { range: 'bytes=0-9', accept: '*/*', 'if-range': '"tag"', 'user-agent': 'a player' }

function download(id: string, followsRedirects = true, attempt = new AbortController()): Promise<Response> {
  vendor.seen.length = 0
  store.seen.length = 0
  return client({
    channel,
    key: { id: 1, secret: 'upstream-key' },
    call: { kind: 'file-download', model: 'veo', stream: false, id },
    body: undefined,
    headers: ASKED,
    attempt,
    followsRedirects,
  })
}

test('goes to another host without key and headers of the channel', async () => {
  expect(await (await download('elsewhere')).text()).toBe('film bytes=0-9')
  const [seen] = store.seen
  expect(seen?.headers.get('x-goog-api-key')).toBeNull()
  expect(seen?.headers.get('x-team')).toBeNull()
  for (const [header, value] of Object.entries(ASKED)) expect(seen?.headers.get(header)).toBe(value)
})

test('brings the key again to the origin of the channel', async () => {
  expect(await (await download('here')).text()).toBe('end')
  expect(vendor.seen.map(({ headers }) => headers.get('x-goog-api-key'))).toEqual([
    'upstream-key',
    'upstream-key',
  ])
})

test.each(['inside', 'file', 'nothing', 'loop'])('ends a redirect that leads to %s', async where => {
  await expect(download(where)).rejects.toMatchObject({ kind: 'upstream_error' })
})

test('a redirect whose address is none leads nowhere', async () => {
  await expect(download('riddle')).rejects.toThrow('leads nowhere')
})

/** An answer with a page that nobody may have to read. */
function pageOf(status: number) {
  const told = { isCancelled: false }
  const page = new ReadableStream({
    cancel: () => {
      told.isCancelled = true
    },
  })
  const first = new Response(page, { status, headers: { location: '/end' } })
  const { signal } = new AbortController()
  const rules = downloadRules({ channel, guard, url: vendor.url, headers: {}, signal })
  return { first, told, followed: followRedirects(first, vendor.url, rules) }
}

test.each([301, 302, 303, 307, 308])('a %d is followed, and the page with it not read', async status => {
  const { followed, told } = pageOf(status)
  expect(await (await followed).text()).toBe('end')
  expect(told.isCancelled).toBe(true)
})

test.each([300, 305])('a %d is no redirect', async status => {
  const { followed, first, told } = pageOf(status)
  expect(await followed).toBe(first)
  expect(told.isCancelled).toBe(false)
})

test('asks a host that leads in circles six times in all', async () => {
  await expect(download('loop')).rejects.toThrow('more than 5 redirects')
  expect(vendor.seen).toHaveLength(6)
})

test('is not waited for any longer when the caller leaves on the way', async () => {
  const attempt = new AbortController()
  const downloaded = download('slow', true, attempt)
  await until(() => store.seen.length === 1)
  attempt.abort(new Error('left'))
  await expect(downloaded).rejects.toThrow('left')
})

test('is not waited for any longer either where the name of the next host is still looked up', async () => {
  const attempt = new AbortController()
  const looking = Promise.withResolvers<void>()
  const dialPublic = () => {
    looking.resolve()
    return new Promise<never>(() => {})
  }
  const { signal } = attempt
  const rules = downloadRules({
    channel,
    guard: { ...guard, dialPublic },
    url: vendor.url,
    headers: {},
    signal,
  })
  const followed = followRedirects(Response.redirect(`${store.url}/film`, 302), vendor.url, rules)
  await looking.promise
  attempt.abort(new Error('left'))
  await expect(followed).rejects.toThrow('left')
})

test('a host behind TLS is held to its own name', async () => {
  const pinned = await servePinned((_, response) => response.end('film'))
  const follow = (serverName: string) => {
    const dialPublic = async () => ({ url: pinned.url, headers: {}, tls: pinned.tlsOf(serverName) })
    const first = Response.redirect(`https://${serverName}/film`, 302)
    const { signal } = new AbortController()
    const { url } = vendor
    const rules = downloadRules({ channel, guard: { ...guard, dialPublic }, url, headers: {}, signal })
    return followRedirects(first, url, rules).then(response => response.text())
  }
  expect(await follow(PINNED_NAME)).toBe('film')
  await expect(follow('other.example.test')).rejects.toThrow('ALTNAME')
  pinned.close()
})

test('what was fetched over TLS is not fetched on without', async () => {
  store.seen.length = 0
  const first = Response.redirect(`${store.url}/film`, 302)
  const url = 'https://vendor.example/file'
  const rules = downloadRules({ channel, guard, url, headers: {}, signal: new AbortController().signal })
  await expect(followRedirects(first, url, rules)).rejects.toMatchObject({ kind: 'upstream_error' })
  expect(store.seen).toHaveLength(0)
})

test('follows nothing unless asked to', async () => {
  expect((await download('elsewhere', false)).status).toBe(302)
  expect(store.seen).toHaveLength(0)
})
