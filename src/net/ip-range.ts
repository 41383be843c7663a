import { isIP } from 'node:net'

/** An address as a number of 128 bits. IPv4 is IPv4-mapped (`::ffff:a.b.c.d`), so that both ways to write it are one. */
interface Address {
  value: bigint
  family: 4 | 6
}

const BITS = 128
const MAPPED = 0xffffn << 32n

/** Whether the address is in one of the ranges. What is no address is in none. */
export function isWithin(address: string, ranges: readonly string[]): boolean {
  const parsed = parseAddress(address)
  return parsed !== undefined && ranges.some(range => contains(range, parsed))
}

/** Whether the text is an address or a CIDR range (`10.0.0.0/8`, `2001:db8::/32`). */
export function isRange(text: string): boolean {
  return parseRange(text) !== undefined
}

/**
 * What one subscriber has: an address of IPv4 by itself, the first 64 bits of one of IPv6, of which every home has them
 * all. What is no address is itself.
 */
export function subscriberOf(address: string): string {
  const parsed = parseAddress(address)
  if (parsed === undefined || parsed.value >> 32n === MAPPED >> 32n) return address
  return `${(parsed.value >> 64n).toString(16)}/64`
}

function contains(text: string, address: Address): boolean {
  const range = parseRange(text)
  if (range === undefined) return false
  const shift = BigInt(BITS - range.prefix)
  return address.value >> shift === range.value >> shift
}

function parseRange(text: string): { value: bigint; prefix: number } | undefined {
  const [base = '', length, ...more] = text.trim().split('/')
  const address = more.length === 0 ? parseAddress(base) : undefined
  if (address === undefined) return undefined
  const bits = address.family === 4 ? 32 : BITS
  if (length === undefined) return { value: address.value, prefix: BITS }
  if (!/^\d{1,3}$/.test(length) || Number(length) > bits) return undefined
  return { value: address.value, prefix: BITS - bits + Number(length) }
}

function parseAddress(text: string): Address | undefined {
  // A zone (`fe80::1%eth0`) names an interface of ours, which no rule is about.
  const bare = text.split('%')[0] ?? ''
  const family = isIP(bare)
  if (family === 4) return { value: MAPPED | parseV4(bare), family }
  return family === 6 ? { value: parseV6(bare), family } : undefined
}

function parseV4(text: string): bigint {
  return text.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n)
}

function parseV6(text: string): bigint {
  const [head = '', tail] = text.split('::')
  const before = readGroups(head)
  const after = readGroups(tail ?? '')
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length
  const groups = [...before, ...Array<bigint>(zeros).fill(0n), ...after]
  return groups.reduce((value, group) => (value << 16n) | group, 0n)
}

function readGroups(text: string): bigint[] {
  if (text === '') return []
  return text.split(':').flatMap(group => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)]
    const v4 = parseV4(group)
    return [v4 >> 16n, v4 & 0xffffn]
  })
}
