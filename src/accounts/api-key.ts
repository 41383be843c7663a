import { hash, randomBytes } from 'node:crypto'

/**
 * A key is `sk-`, an 8-character lookup id (not secret), 256 random bits and a checksum, all in base62. The checksum
 * lets typing errors and scanners be refused without asking the database.
 */
interface MintedKey {
  /** Shown once and never stored. */
  key: string
  lookup: string
  hash: Uint8Array
}

const PREFIX = 'sk-'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const LOOKUP_LENGTH = 8
/** 62^43 is just above 2^256. */
const SECRET_LENGTH = 43
/** 62^6 is above 2^32. */
const CHECKSUM_LENGTH = 6
const SHAPE = new RegExp(
  `^${PREFIX}([0-9A-Za-z]{${LOOKUP_LENGTH}})[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`,
)

/** Makes a key. `random` gives that many bytes nobody can guess. */
export function mintKey(random: (bytes: number) => Uint8Array = randomBytes): MintedKey {
  // 16 bytes for 47.6 bits: what is left of the remainder's bias is 2^-80.
  const lookup = toBase62(toNumber(random(16)) % 62n ** BigInt(LOOKUP_LENGTH), LOOKUP_LENGTH)
  const body = `${PREFIX}${lookup}${toBase62(toNumber(random(32)), SECRET_LENGTH)}`
  const key = body + checksum(body)
  return { key, lookup, hash: hashKey(key) }
}

/** The lookup id of a key that could be one of ours; undefined for anything else. */
export function parseKey(presented: string): { lookup: string } | undefined {
  const lookup = SHAPE.exec(presented)?.[1]
  if (lookup === undefined) return undefined
  const body = presented.slice(0, -CHECKSUM_LENGTH)
  return presented.slice(-CHECKSUM_LENGTH) === checksum(body) ? { lookup } : undefined
}

/** SHA-256 of the whole key. A slow hash would protect nothing: 256 random bits cannot be guessed. */
export function hashKey(key: string): Uint8Array {
  return Buffer.from(hashHex(key), 'hex')
}

/** SHA-256 of the whole key in hexadecimal, as caches have it. */
export function hashHex(key: string): string {
  return hash('sha256', key, 'hex')
}

function checksum(body: string): string {
  return toBase62(BigInt(Bun.hash.crc32(body)), CHECKSUM_LENGTH)
}

function toNumber(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}

function toBase62(number: bigint, length: number): string {
  let digits = ''
  for (let rest = number; digits.length < length; rest /= 62n)
    digits = ALPHABET.charAt(Number(rest % 62n)) + digits
  return digits
}
