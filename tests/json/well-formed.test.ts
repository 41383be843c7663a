import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { storable, wellFormed } from '@/json/well-formed.ts'

test('halves of surrogate pairs become U+FFFD, and nothing else changes', () => {
  const piece = fc.constantFrom('\ud83d', '\ude00', '😀', '\\ud83d', '\\', '"', 'a', '\\\\udfff', 'é', '\n')
  fc.assert(
    fc.property(fc.array(piece), pieces => {
      const text = pieces.join('')
      expect(JSON.parse(wellFormed(JSON.stringify({ [text]: [text] })))).toEqual({
        [text.toWellFormed()]: [text.toWellFormed()],
      })
    }),
  )
})

test('a pair that is spelled as escapes is whole', () => {
  expect(wellFormed('["\\ud83d\\ude00\\ud83d"]')).toBe('["\\ud83d\\ude00\ufffd"]')
  expect(wellFormed('{"a":"\\uDE00!"}')).toBe('{"a":"\ufffd!"}')
})

test('what Postgres has in no text becomes U+FFFD, and nothing else changes', () => {
  const piece = fc.constantFrom('\ud83d', '\u0000', '\\u0000', '\\', '0', 'u0000', '😀', 'é')
  fc.assert(
    fc.property(fc.array(piece), pieces => {
      const text = pieces.join('')
      expect(JSON.parse(storable(JSON.stringify([text])))).toEqual([
        text.toWellFormed().replaceAll('\0', '\ufffd'),
      ])
    }),
  )
})
