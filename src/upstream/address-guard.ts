import { lookup as lookUp, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Clock } from '@/clock/clock.ts'
import { dropOldest } from '@/clock/oldest.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { Channel } from './channel.ts'
import { isPrivateAddress } from './private-address.ts'

/** All addresses of a host name. */
export type Lookup = (hostname: string) => Promise<readonly string[]>

/** How names are looked up, and by whom. */
interface AddressGuardOptions {
  clock: Pick<Clock, 'elapsed'>
  /** In the place of both ways to look names up. */
  lookup?: Lookup
  /** Who is asked for names that are not the operator's; as a rule whom the system names. */
  nameServers?: readonly string[]
  /** True: requests go through a proxy, which resolves names by itself; then only addresses can be judged. */
  proxied?: boolean
}

/** How a request is made to reach the address that was judged, and no other. */
export interface Dial {
  url: string
  headers: Readonly<Record<string, string>>
  /** Undefined: as Bun does it by itself. */
  tls: { serverName: string } | undefined
}

/** Keeps requests off private networks, unless the operator allowed the channel to go there. */
export interface AddressGuard {
  /**
   * Where to dial for a URL on a channel.
   * @throws GatewayError if the host is on a private network, in whole or in part; what the lookup throws
   */
  dial(channel: Channel, url: string): Promise<Dial>
  /**
   * Where to dial for a URL that is not the operator's own. The address is always chosen here, whatever else would.
   * @throws PrivateAddress if the host is on a private network, in whole or in part; what the lookup throws
   */
  dialPublic(url: string): Promise<Dial>
  /** What `dial` would answer, if nothing has to be looked up for it and it was asked before; undefined: ask it. */
  recall(channel: Channel, url: string): Dial | undefined
  /** The next dial looks the host up again: the address that was used did not answer. */
  forget(url: string): void
}

/** An address that may not be dialled. */
export class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress'
}

/** A vendor that moves is followed this soon; DNS itself rarely promises more. */
const FRESH_MS = 30_000
/** More than any deployment has upstreams. */
const MAX_HOSTS = 1_000
/** Of URLs with ids in them there is no end. */
const MAX_DIALS = 1_000

/** What a name was found to mean. */
interface Host {
  addresses: Promise<readonly string[]>
  until: number
}

const NO_HEADERS = Object.freeze({})

/**
 * The guard on the system's resolver, and on DNS for names that are not the operator's. A name is looked up here and the
 * request is sent to the address that was judged, with the name in Host, in SNI and in the certificate's check, so a name
 * that means another address a moment later (DNS rebinding) gains nothing. Bun 1.4.5 pools such connections per server
 * name as it does others.
 *
 * What Bun's fetch does not give: one request dials one address, so there is no falling back to a host's next address
 * within an attempt (the next attempt looks again), and IPv4 is preferred rather than raced. Where a proxy is set, the
 * proxy chooses the address.
 */
export function createAddressGuard(options: AddressGuardOptions): AddressGuard {
  const { clock, lookup, nameServers, proxied = false } = options
  const hosts = new Hosts(clock, lookup ?? systemLookup)
  const strangers = new Hosts(clock, lookup ?? (hostname => dnsLookup(hostname, nameServers)))
  /** Dials of names that were judged, good for as long as what the name means. */
  const dials = new Map<string, { dial: Dial; host: Host }>()

  return {
    async dial(channel, url) {
      if (channel.allowPrivate) return asItIs(url)
      if (proxied && isIP(hostOf(url)) === 0) return asItIs(url)
      const { dial, host } = await judged(url, hosts).catch(error => {
        throw error instanceof PrivateAddress ? notAllowed(channel, error) : error
      })
      if (host !== undefined) {
        dials.delete(url)
        dials.set(url, { dial, host })
        dropOldest(dials, MAX_DIALS)
      }
      return dial
    },
    async dialPublic(url) {
      return (await judged(url, strangers)).dial
    },
    recall(channel, url) {
      if (channel.allowPrivate) return asItIs(url)
      const known = dials.get(url)
      return known !== undefined && clock.elapsed() < known.host.until ? known.dial : undefined
    },
    forget(url) {
      hosts.forget(hostOf(url))
    },
  }
}

/** What names were found to mean, a while ago at most. */
class Hosts {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #lookup: Lookup
  readonly #known = new Map<string, Host>()

  constructor(clock: Pick<Clock, 'elapsed'>, lookup: Lookup) {
    this.#clock = clock
    this.#lookup = lookup
  }

  at(hostname: string): Host {
    const now = this.#clock.elapsed()
    const known = this.#known.get(hostname)
    if (known !== undefined && now < known.until) return known
    const host = { addresses: this.#lookup(hostname), until: now + FRESH_MS }
    this.#known.delete(hostname)
    this.#known.set(hostname, host)
    dropOldest(this.#known, MAX_HOSTS)
    // A failure is not remembered.
    host.addresses.catch(() => this.#known.delete(hostname))
    return host
  }

  forget(hostname: string): void {
    const host = this.#known.get(hostname)
    if (host !== undefined) host.until = 0
  }
}

/** @throws PrivateAddress, or what the lookup throws */
async function judged(url: string, hosts: Hosts): Promise<{ dial: Dial; host: Host | undefined }> {
  const hostname = hostOf(url)
  if (isIP(hostname) !== 0) {
    refusePrivate(hostname, [hostname])
    return { dial: asItIs(url), host: undefined }
  }
  const host = hosts.at(hostname)
  const addresses = await host.addresses
  refusePrivate(hostname, addresses)
  return { dial: pinned(url, hostname, preferred(addresses)), host }
}

/** What a dial comes to, or the reason of an abort if that is sooner: looking up a name cannot be cancelled. */
export function orAborted(dial: Promise<Dial>, signal: AbortSignal): Promise<Dial> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort)
    dial.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}

function asItIs(url: string): Dial {
  return { url, headers: NO_HEADERS, tls: undefined }
}

/** Whether Bun's fetch would send requests through a proxy. */
export function usesProxy(env: Readonly<Record<string, string | undefined>>): boolean {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap(name => [name, name.toLowerCase()])
  return names.some(name => (env[name] ?? '') !== '')
}

async function systemLookup(hostname: string): Promise<readonly string[]> {
  const found = await lookUp(hostname, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}

/**
 * By DNS alone, for names that are not the operator's own. The system's resolver holds one of Bun's few threads, which
 * files need as well, for 10 s where a name server is silent: 20 such names stopped a process for minutes. A resolver of
 * its own for each name, since one reads only once which name servers the system has.
 */
async function dnsLookup(hostname: string, nameServers?: readonly string[]): Promise<readonly string[]> {
  const resolver = new Resolver(DNS_PATIENCE)
  if (nameServers !== undefined) resolver.setServers(nameServers)
  const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  const addresses = found.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
  if (addresses.length === 0 && found[0].status === 'rejected') throw found[0].reason
  return addresses
}

/** The second try has twice the time of the first. */
const DNS_PATIENCE = { timeout: 2_000, tries: 2 }

/** Without the brackets of IPv6. The URL parser has already made one of the many ways to write an IPv4 address. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '')
}

/** One private address among public ones is enough: which one is dialled must not matter. */
function refusePrivate(hostname: string, addresses: readonly string[]): void {
  const found = addresses.length === 0 ? 'no address' : addresses.find(isPrivateAddress)
  if (found !== undefined) throw new PrivateAddress(`${hostname} is at ${found}, which is private`)
}

function notAllowed(channel: Channel, error: PrivateAddress): GatewayError {
  return new GatewayError('upstream_error', 'The upstream could not be reached', {
    retry: 'next-channel',
    detail: `channel ${channel.name}: ${error.message}; allow_private: true would allow it`,
  })
}

/** IPv4 where there is one: a machine without IPv6 is more common than one without IPv4. */
function preferred(addresses: readonly string[]): string {
  return addresses.find(address => isIP(address) === 4) ?? addresses[0] ?? ''
}

function pinned(url: string, hostname: string, address: string): Dial {
  const target = new URL(url)
  const { host, protocol } = target
  target.hostname = isIP(address) === 6 ? `[${address}]` : address
  return {
    url: target.href,
    headers: { host },
    tls: protocol === 'https:' ? { serverName: hostname } : undefined,
  }
}
