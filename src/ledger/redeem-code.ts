import { createHash, randomBytes } from 'node:crypto'

/** 128 random bits in Crockford's base 32, which has no I, L, O or U: 26 characters, in groups for people who type. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LENGTH = 26
const GROUPS = /^(.{6})(.{7})(.{6})(.{7})$/

/** Makes a code. */
export function mintCode(): string {
  let rest = BigInt(`0x${randomBytes(16).toString('hex')}`)
  let code = ''
  for (; code.length < LENGTH; rest /= 32n) code = ALPHABET.charAt(Number(rest % 32n)) + code
  return code.replace(GROUPS, '$1-$2-$3-$4')
}

/** SHA-256 of a code, however it was typed. What cannot be a code has the hash of none that was made. */
export function hashCode(typed: string): Uint8Array {
  const code = typed.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1')
  return new Uint8Array(createHash('sha256').update(code).digest())
}
