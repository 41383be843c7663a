import { BlockList, isIP } from 'node:net'

/**
 * Every range that is no public host: of IANA's special-purpose registries what is not globally reachable, multicast,
 * and what carries an IPv4 address inside (tunnels and translators lead where that address does).
 */
const RANGES: readonly (readonly [string, number, 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'], // this host
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'], // carriers; Alibaba's metadata
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'], // link-local; the metadata of most clouds
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'], // protocol assignments; Oracle's metadata
  ['192.0.2.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'], // multicast, reserved, broadcast
  ['168.63.129.16', 32, 'ipv4'], // Azure's platform, in public space
  ['::', 96, 'ipv6'], // unspecified, loopback, IPv4-compatible
  ['::ffff:0:0:0', 96, 'ipv6'], // IPv4-translated (SIIT)
  ['64:ff9b:1::', 48, 'ipv6'],
  ['100::', 63, 'ipv6'], // discard-only; the dummy prefix
  ['2001::', 23, 'ipv6'], // Teredo and protocol assignments
  ['2001:db8::', 32, 'ipv6'],
  ['2002::', 16, 'ipv6'], // 6to4
  ['3fff::', 20, 'ipv6'],
  ['5f00::', 16, 'ipv6'],
  ['fc00::', 7, 'ipv6'], // unique local; AWS' metadata
  ['fe80::', 10, 'ipv6'], // link-local
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'], // multicast
]

const PRIVATE = new BlockList()
for (const [address, prefix, family] of RANGES) PRIVATE.addSubnet(address, prefix, family)

/** Whether an address is no public host. What is no address counts as private: nothing is known of it. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 0) return true
  // IPv4-mapped addresses are judged by the IPv4 ranges.
  return PRIVATE.check(translated(address) ?? address, family === 4 ? 'ipv4' : 'ipv6')
}

/** NAT64, by which hosts without IPv4 reach all of it: judged as the IPv4 address that it leads to, mapped. */
function translated(address: string): string | undefined {
  if (!address.toLowerCase().startsWith('64:ff9b:')) return undefined
  const plain = new URL(`http://[${address.replace(/%.*/, '')}]`).hostname.slice(1, -1)
  const rest = /^64:ff9b::([0-9a-f:]*)$/.exec(plain)?.[1]
  return rest === undefined ? undefined : mapped(rest)
}

function mapped(lastGroups: string): string {
  const groups = lastGroups.split(':').slice(-2)
  return `::ffff:${['0', ...groups]
    .slice(-2)
    .map(group => group || '0')
    .join(':')}`
}
