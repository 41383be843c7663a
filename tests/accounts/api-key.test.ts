import { expect, test } from 'bun:test'
import { hashKey, mintKey, parseKey } from '@/accounts/api-key.ts'

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

test('a key that was made before opens its account still: its bytes, its checksum and its hash are what they were', () => {
  expect(minted.key).toBe('sk-G6WaEB0lehv1hsdOHPxDuX3xn9YyIKbgl4yJuySCWzdimD4heup4cbQgd')
  expect(Buffer.from(minted.hash).toString('hex')).toBe(
    '8dbbefdd47d15202d5d3c28a50d121825605e99b66ce42149434b6e0e2b7d1bb',
  )
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
