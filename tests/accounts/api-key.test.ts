import { expect, test } from 'bun:test'
import { hashKey, mintKey, parseKey, sameHash } from '@/accounts/api-key.ts'

const minted = mintKey(size => new Uint8Array(size).fill(0xab))

test('has one length and alphabet for every random value', () => {
  for (const byte of [0x00, 0x01, 0x7f, 0xff]) {
    expect(mintKey(size => new Uint8Array(size).fill(byte)).key).toMatch(/^sk-[0-9A-Za-z]{57}$/)
  }
})

test('carries its lookup id and parses', () => {
  expect(minted.key.slice(3, 11)).toBe(minted.lookup)
  expect(parseKey(minted.key)).toEqual({ lookup: minted.lookup })
  expect(minted.hash).toEqual(hashKey(minted.key))
})

test('every single wrong character is noticed', () => {
  for (let at = 0; at < minted.key.length; at += 1) {
    const wrong = minted.key.charAt(at) === 'x' ? 'y' : 'x'
    expect(parseKey(minted.key.slice(0, at) + wrong + minted.key.slice(at + 1))).toBeUndefined()
  }
})

test.each([
  '',
  'sk-',
  'sk-proj-abc',
  'Bearer x',
  `${minted.key}0`,
  minted.key.slice(1),
  ` ${minted.key}`,
  `${minted.key}\n`,
])('refuses %p', text => {
  expect(parseKey(text)).toBeUndefined()
})

test('ten thousand keys have ten thousand lookup ids', () => {
  const keys = Array.from({ length: 10_000 }, () => mintKey())
  expect(new Set(keys.map(key => key.lookup)).size).toBe(keys.length)
})

test('compares hashes by content and length', () => {
  expect(sameHash(minted.hash, hashKey(minted.key))).toBe(true)
  expect(sameHash(minted.hash, hashKey(`${minted.key}0`))).toBe(false)
  expect(sameHash(minted.hash, new Uint8Array(0))).toBe(false)
})
