import { describe, expect, test } from 'bun:test'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { channelOf } from '#tests/routing/channels.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { scriptedUpstream } from '#tests/support/upstreams/upstream.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { createAddressGuard, type Lookup, usesProxy } from '@/upstream/address-guard.ts'
import { isPrivateAddress } from '@/upstream/private-address.ts'

describe('an address is private', () => {
  test.each([
    ['loopback', '127.0.0.1'],
    ['all of loopback', '127.255.255.254'],
    ['this host', '0.0.0.0'],
    ['RFC 1918, 10', '10.255.0.1'],
    ['RFC 1918, 172.16', '172.31.255.255'],
    ['RFC 1918, 192.168', '192.168.0.1'],
    ['link-local', '169.254.1.1'],
    ['the metadata of most clouds', '169.254.169.254'],
    ["Alibaba's metadata", '100.100.100.200'],
    ["Oracle's metadata", '192.0.0.192'],
    ["Azure's platform", '168.63.129.16'],
    ["AWS' metadata over IPv6", 'fd00:ec2::254'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['multicast', '224.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['documentation', '203.0.113.1'],
    ['benchmarking', '198.19.0.1'],
    ['loopback over IPv6', '::1'],
    ['unspecified over IPv6', '::'],
    ['unique local', 'fdff::1'],
    ['link-local over IPv6', 'fe80::1'],
    ['link-local with its zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast over IPv6', 'ff02::1'],
    ['IPv4-mapped', '::ffff:10.0.0.1'],
    ['IPv4-mapped in hexadecimal', '::ffff:7f00:1'],
    ['IPv4-mapped in full', '0:0:0:0:0:ffff:c0a8:1'],
    ['IPv4-compatible', '::10.0.0.1'],
    ['NAT64 to a private address', '64:ff9b::a00:1'],
    ['NAT64 to loopback', '64:ff9b::127.0.0.1'],
    ['NAT64 to this host', '64:ff9b::1'],
    ['NAT64 to a private address with its zone', '64:ff9b::a00:1%eth0'],
    ['local NAT64', '64:ff9b:1::808:808'],
    ['IPv4-translated loopback', '::ffff:0:127.0.0.1'],
    ['6to4', '2002:a00:1::'],
    ['Teredo', '2001::1'],
    ['documentation, TEST-NET-1', '192.0.2.1'],
    ['documentation, TEST-NET-2', '198.51.100.1'],
    ['documentation over IPv6', '2001:db8::1'],
    ['documentation over IPv6, RFC 9637', '3fff::1'],
    ['6to4 relays', '192.88.99.1'],
    ['discard-only', '100::1'],
    ['segment routing', '5f00::1'],
    ['no address', 'localhost'],
    ['nothing', ''],
  ])('%s: %s', (_, address) => {
    expect(isPrivateAddress(address)).toBe(true)
  })

  test.each([
    '8.8.8.8',
    '172.15.255.255',
    '172.32.0.1',
    '100.128.0.1',
    '168.63.129.17',
    '2606:4700::1111',
    '2001:4860:4860::8888',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
  ])('and %s is not', address => {
    expect(isPrivateAddress(address)).toBe(false)
  })
})

function guard(addresses: Record<string, readonly string[]>, more: { proxied?: boolean } = {}) {
  const clock = manualClock()
  const asked: string[] = []
  const lookup: Lookup = async hostname => {
    asked.push(hostname)
    const found = addresses[hostname]
    if (found === undefined) throw new Error(`ENOTFOUND ${hostname}`)
    return found
  }
  return { clock, asked, addresses, ...createAddressGuard({ clock, lookup, ...more }) }
}

const PUBLIC = channelOf(1)
const PRIVATE = channelOf(2, { allowPrivate: true })

describe('a channel that may not go to private networks', () => {
  test.each([
    ['a private address', 'http://10.0.0.1/v1'],
    ['loopback written as one number', 'http://2130706433/'],
    ['loopback in hexadecimal', 'http://0x7f.1/'],
    ['loopback in IPv6', 'http://[::1]:8080/'],
    ['an IPv4-mapped one', 'http://[::ffff:169.254.169.254]/latest/meta-data'],
    ['a name of a private address', 'https://inside.example/v1'],
    ['a name of both kinds', 'https://both.example/v1'],
    ['a name of nothing', 'https://nothing.example/v1'],
  ])('does not reach %s', async (_, url) => {
    const { dial } = guard({
      'inside.example': ['192.168.1.1'],
      'both.example': ['8.8.8.8', '::ffff:127.0.0.1'],
      'nothing.example': [],
    })
    const error: unknown = await dial(PUBLIC, url).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(GatewayError)
    expect(error).toMatchObject({ kind: 'upstream_error', retry: 'next-channel' })
    expect(error).toHaveProperty('message', 'The upstream could not be reached')
    expect(error).toHaveProperty('detail', expect.stringContaining('allow_private'))
  })

  test('reaches a public name at the address that was judged, under its name', async () => {
    const { dial } = guard({ 'api.example': ['2606:4700::1', '1.1.1.1'], 'six.example': ['2606:4700::1'] })
    expect(await dial(PUBLIC, 'https://api.example/v1/messages?beta=true')).toEqual({
      url: 'https://1.1.1.1/v1/messages?beta=true',
      headers: { host: 'api.example' },
      tls: { serverName: 'api.example' },
    })
    expect(await dial(PUBLIC, 'http://six.example:8080/v1')).toEqual({
      url: 'http://[2606:4700::1]:8080/v1',
      headers: { host: 'six.example:8080' },
      tls: undefined,
    })
  })

  test('a name that means another address a moment later is not followed there', async () => {
    const { dial, addresses, clock } = guard({ 'api.example': ['1.1.1.1'] })
    await dial(PUBLIC, 'https://api.example/')
    addresses['api.example'] = ['127.0.0.1']
    expect(await dial(PUBLIC, 'https://api.example/')).toMatchObject({ url: 'https://1.1.1.1/' })
    clock.advance(60_000)
    await expect(dial(PUBLIC, 'https://api.example/')).rejects.toThrow('could not be reached')
  })
})

test('a name is looked up once in a while, again when it did not answer, and a failure is not remembered', async () => {
  const { dial, forget, asked, addresses, clock } = guard({ 'api.example': ['1.1.1.1'] })
  const url = 'https://api.example/v1'
  await Promise.all([dial(PUBLIC, url), dial(PUBLIC, url)])
  expect(asked).toHaveLength(1)
  forget(url)
  await dial(PUBLIC, url)
  expect(asked).toHaveLength(2)
  clock.advance(60_000)
  delete addresses['api.example']
  expect(await dial(PUBLIC, url).catch((error: Error) => error.message)).toContain('ENOTFOUND')
  addresses['api.example'] = ['1.0.0.1']
  expect(await dial(PUBLIC, url)).toMatchObject({ url: 'https://1.0.0.1/v1' })
})

describe('what was dialled before', () => {
  const url = 'https://api.example/v1'

  test('is recalled as long as its name is known, whatever the clock of the machine is set to', async () => {
    const { dial, recall, clock } = guard({ 'api.example': ['1.1.1.1'] })
    expect(recall(PUBLIC, url)).toBeUndefined()
    const dialled = await dial(PUBLIC, url)
    expect(recall(PUBLIC, url)).toEqual(dialled)
    expect(recall(PUBLIC, `${url}/other`)).toBeUndefined()
    clock.set(-86_400_000)
    clock.advance(60_000)
    expect(recall(PUBLIC, url)).toBeUndefined()
  })

  test('is not recalled when its address did not answer, nor is anything else of that host', async () => {
    const { dial, recall, forget } = guard({ 'api.example': ['1.1.1.1'] })
    await dial(PUBLIC, url)
    await dial(PUBLIC, `${url}/other`)
    forget(url)
    expect([recall(PUBLIC, url), recall(PUBLIC, `${url}/other`)]).toEqual([undefined, undefined])
    await dial(PUBLIC, url)
    expect(recall(PUBLIC, `${url}/other`)).toBeUndefined()
  })

  test.each([
    ['a private address', 'http://10.0.0.1/v1'],
    ['a name of a private address', 'https://inside.example/v1'],
  ])('never is %s', async (_, inside) => {
    const { dial, recall } = guard({ 'inside.example': ['192.168.1.1'] })
    await dial(PUBLIC, inside).catch(() => undefined)
    expect(recall(PUBLIC, inside)).toBeUndefined()
  })

  test('never is what a proxy looks up, though we looked it up for a caller', async () => {
    const { dial, dialPublic, recall } = guard({ 'api.example': ['1.1.1.1'] }, { proxied: true })
    await dialPublic(url)
    expect(recall(PUBLIC, url)).toBeUndefined()
    expect(await dial(PUBLIC, url)).toMatchObject({ url })
  })

  test('is the address itself for a channel that may go anywhere', async () => {
    const { dial, recall } = guard({})
    expect(recall(PRIVATE, url)).toEqual(await dial(PRIVATE, url))
  })
})

test('a channel that may go anywhere is not looked up', async () => {
  const { dial, asked } = guard({})
  expect(await dial(PRIVATE, 'http://inside.example/')).toEqual({
    url: 'http://inside.example/',
    headers: {},
    tls: undefined,
  })
  expect(asked).toEqual([])
})

test('behind a proxy names are left to it, and addresses are judged still', async () => {
  const { dial, asked } = guard({}, { proxied: true })
  expect(await dial(PUBLIC, 'https://api.example/')).toMatchObject({ url: 'https://api.example/' })
  await expect(dial(PUBLIC, 'https://10.0.0.1/')).rejects.toThrow('could not be reached')
  expect(asked).toEqual([])
  expect([usesProxy({}), usesProxy({ HTTP_PROXY: '' }), usesProxy({ https_proxy: 'http://p' })]).toEqual([
    false,
    false,
    true,
  ])
})

describe("what Bun's fetch makes of a pinned address", () => {
  const name = 'api.example.test'

  test('the upstream sees its own name', async () => {
    const upstream = scriptedUpstream(({ headers }) => new Response(headers.get('host')))
    const { port } = new URL(upstream.url)
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { host: `${name}:${port}` } })
    expect(await response.text()).toBe(`${name}:${port}`)
    await upstream.stop()
  })

  test('SNI and the check of the certificate go by the name, and connections are used again', async () => {
    const read = (file: string) => Bun.file(join(import.meta.dir, file)).text()
    const [key, cert] = await Promise.all([read('pinned.key.pem'), read('pinned.cert.pem')])
    let connections = 0
    const names = new Set<unknown>()
    const server = createServer({ key, cert }, (request, response) => {
      response.end(request.headers.host)
    })
    server.on('secureConnection', socket => {
      connections += 1
      names.add('servername' in socket ? socket.servername : undefined)
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    server.listen(0, '127.0.0.1', resolve)
    await promise
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const ask = (serverName: string) =>
      fetch(`https://127.0.0.1:${port}/`, { headers: { host: name }, tls: { ca: cert, serverName } })
    for (let count = 0; count < 3; count += 1) expect(await (await ask(name)).text()).toBe(name)
    expect([connections, ...names]).toEqual([1, name])
    await expect(ask('other.example.test')).rejects.toThrow('ALTNAME')
    server.close()
  })
})
