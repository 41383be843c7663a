import { describe, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { channelOf } from '#tests/support/channels.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { scriptedUpstream, until } from '#tests/support/upstreams/upstream.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { createAddressGuard, type Lookup, orAborted, usesProxy } from '@/upstream/address-guard.ts'
import { isPrivateAddress } from '@/upstream/private-address.ts'
import { PINNED_NAME, servePinned } from './pinned-server.ts'

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

  test.each(['8.8.8.8', '2606:4700::1111', '2001:4860:4860::8888', '::ffff:8.8.8.8', '64:ff9b::808:808'])(
    'and %s is not',
    address => {
      expect(isPrivateAddress(address)).toBe(false)
    },
  )

  /** The address before, the first, the last and the one after; undefined: there is none, or it is private as well. */
  const edges: readonly (readonly [string | undefined, string, string, string | undefined])[] = [
    [undefined, '0.0.0.0', '0.255.255.255', '1.0.0.0'],
    ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
    ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
    ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0'],
    ['168.63.129.15', '168.63.129.16', '168.63.129.16', '168.63.129.17'],
    ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
    ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0'],
    ['191.255.255.255', '192.0.0.0', '192.0.0.255', '192.0.1.0'],
    ['192.0.1.255', '192.0.2.0', '192.0.2.255', '192.0.3.0'],
    ['192.88.98.255', '192.88.99.0', '192.88.99.255', '192.88.100.0'],
    ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
    ['198.17.255.255', '198.18.0.0', '198.19.255.255', '198.20.0.0'],
    ['198.51.99.255', '198.51.100.0', '198.51.100.255', '198.51.101.0'],
    ['203.0.112.255', '203.0.113.0', '203.0.113.255', '203.0.114.0'],
    ['223.255.255.255', '224.0.0.0', '255.255.255.255', undefined],
    [undefined, '::', '::ffff:ffff', '::1:0:0'],
    ['::fffe:ffff:ffff:ffff', '::ffff:0:0:0', '::ffff:0:ffff:ffff', '::ffff:1:0:0'],
    ['64:ff9b:0:ffff::', '64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff', '64:ff9b:2::'],
    ['ff:ffff::', '100::', '100:0:0:1:ffff:ffff:ffff:ffff', '100:0:0:2::'],
    ['2000:ffff::', '2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
    ['2001:db7:ffff::', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db9::'],
    ['2001:ffff::', '2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2003::'],
    ['3ffe:ffff::', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::'],
    ['5eff:ffff::', '5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '5f01::'],
    ['fbff:ffff::', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'fe00::'],
    ['fe7f:ffff::', 'fe80::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', undefined],
    [undefined, 'ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', undefined],
  ]
  test.each(edges)('from edge to edge: %s | %s to %s | %s', (before, first, last, after) => {
    expect([first, last].map(isPrivateAddress)).toEqual([true, true])
    for (const outside of [before, after]) {
      if (outside !== undefined) expect(isPrivateAddress(outside)).toBe(false)
    }
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

test("the system's resolver is asked for a name, and all that it says is judged", async () => {
  const { dial } = createAddressGuard({ clock: manualClock() })
  const refused = dial(PUBLIC, 'http://localhost/')
  await expect(refused).rejects.toMatchObject({
    detail: expect.stringMatching(/localhost is at (?:127\.|::1)/),
  })
})

describe("names that are not the operator's", () => {
  test('are asked of DNS, and those whose name server is silent hold up neither others nor files', async () => {
    await using server = await nameServer(name => (name.startsWith('silent') ? undefined : [8, 8, 4, 4]))
    const { dialPublic } = createAddressGuard({ clock: manualClock(), nameServers: [server.address] })
    const silent = Array.from({ length: 100 }, (_, at) => dialPublic(`http://silent${at}.example/`))
    for (const dial of silent) dial.catch(() => undefined)
    await until(() => server.asked.size === 100)
    expect((await readFile(import.meta.path)).length).toBeGreaterThan(0)
    expect(await dialPublic('http://here.example/a')).toMatchObject({
      url: 'http://8.8.4.4/a',
      headers: { host: 'here.example' },
    })
  })

  test('are judged by all that DNS says of them', async () => {
    await using server = await nameServer(name => (name.startsWith('inside') ? [10, 0, 0, 7] : [8, 8, 4, 4]))
    const { dialPublic } = createAddressGuard({ clock: manualClock(), nameServers: [server.address] })
    await expect(dialPublic('http://inside.example/')).rejects.toThrow('is at 10.0.0.7, which is private')
    await expect(dialPublic('http://both.example/')).rejects.toThrow('is at fd00::1, which is private')
  })

  test('are reached by IPv6 where they have nothing else', async () => {
    await using server = await nameServer(() => [])
    const { dialPublic } = createAddressGuard({ clock: manualClock(), nameServers: [server.address] })
    expect(await dialPublic('http://six.example/a')).toMatchObject({ url: 'http://[2606:4700:4700::1111]/a' })
  })

  test('that DNS does not know are no address', async () => {
    await using server = await nameServer(() => [])
    const { dialPublic } = createAddressGuard({ clock: manualClock(), nameServers: [server.address] })
    await expect(dialPublic('http://nobody.example/')).rejects.toThrow('ENOTFOUND')
  })

  test('are not what a channel goes by', async () => {
    const { dial, dialPublic, recall, asked } = guard({ 'api.example': ['1.1.1.1'] })
    await dialPublic('https://api.example/v1')
    expect(recall(PUBLIC, 'https://api.example/v1')).toBeUndefined()
    await dial(PUBLIC, 'https://api.example/v1')
    expect(asked).toEqual(['api.example', 'api.example'])
  })
})

/**
 * A name server that answers each name with one IPv4 address or none, or not at all; of IPv6 it has an inner address for
 * `both`, and a public one for `six`.
 */
async function nameServer(addressOf: (name: string) => readonly number[] | undefined) {
  const asked = new Set<string>()
  const socket = await Bun.udpSocket({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, query, port, address) {
        // https://datatracker.ietf.org/doc/html/rfc1035#section-4.1: 12 bytes of head, then the question.
        const end = 12 + query.subarray(12).indexOf(0) + 5
        const name = query.toString('latin1', 13, end - 5).replace(/[^a-z0-9]/g, '.')
        asked.add(name)
        const ipv4 = addressOf(name)
        if (ipv4 === undefined) return
        const ipv6 = IPV6[name.split('.')[0] ?? ''] ?? []
        const [type, found] = query.readUInt16BE(end - 4) === 1 ? [1, ipv4] : [28, ipv6]
        const head = [...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, found.length > 0 ? 1 : 0, 0, 0, 0, 0]
        const record = [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, found.length, ...found]
        const answer = [...head, ...query.subarray(12, end), ...(found.length > 0 ? record : [])]
        socket.send(Buffer.from(answer), port, address)
      },
    },
  })
  return { address: `127.0.0.1:${socket.port}`, asked, [Symbol.asyncDispose]: async () => socket.close() }
}

const IPV6: Record<string, readonly number[]> = {
  both: [0xfd, ...Array(14).fill(0), 1],
  six: [0x26, 0x06, 0x47, 0, 0x47, 0, ...Array(8).fill(0), 0x11, 0x11],
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

test('a name is not waited for by whom nobody waits any more', async () => {
  const never = new Promise<never>(() => {})
  await expect(orAborted(never, AbortSignal.abort('left before'))).rejects.toBe('left before')
  const caller = new AbortController()
  const dialled = orAborted(never, caller.signal)
  caller.abort('left meanwhile')
  await expect(dialled).rejects.toBe('left meanwhile')
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
  expect([usesProxy({}), usesProxy({ HTTP_PROXY: '' })]).toEqual([false, false])
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy']) {
    expect(usesProxy({ [name]: 'http://p' })).toBe(true)
  }
})

describe("what Bun's fetch makes of a pinned address", () => {
  test('the upstream sees its own name', async () => {
    const upstream = scriptedUpstream(({ headers }) => new Response(headers.get('host')))
    const { port } = new URL(upstream.url)
    const host = `${PINNED_NAME}:${port}`
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { host } })
    expect(await response.text()).toBe(host)
    await upstream.stop()
  })

  test('SNI and the check of the certificate go by the name, and connections are used again', async () => {
    const server = await servePinned((request, response) => response.end(request.headers.host))
    const ask = (serverName: string) =>
      fetch(server.url, { headers: { host: PINNED_NAME }, tls: server.tlsOf(serverName) })
    for (let count = 0; count < 3; count += 1) expect(await (await ask(PINNED_NAME)).text()).toBe(PINNED_NAME)
    expect([server.connections, ...server.names]).toEqual([1, PINNED_NAME])
    await expect(ask('other.example.test')).rejects.toThrow('ALTNAME')
    server.close()
  })
})
