import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { decimalPlaces, isAbove, readDecimal } from '@/config/decimal.ts'

test.each([
  ['0', '0'],
  ['000.000', '0'],
  ['1.250', '1.25'],
  ['.5', '0.5'],
  ['5.', '5'],
  ['+1', '1'],
  ['007', '7'],
  ['1e3', '1000'],
  ['1.5E+2', '150'],
  ['1e-6', '0.000001'],
  ['12.34e-3', '0.01234'],
  ['0.0012e1', '0.012'],
  ['123456789123456789.123456789', '123456789123456789.123456789'],
])('%s is %s', (text, expected) => {
  expect(readDecimal(text)).toBe(expected)
})

test.each([
  '',
  '.',
  '-1',
  '-0',
  '1,5',
  '0x10',
  '1e',
  'e1',
  '1 ',
  ' 1',
  '1_000',
  '.inf',
  '.nan',
  'NaN',
  'Infinity',
  '1e9999',
])('"%s" is no decimal', text => {
  expect(readDecimal(text)).toBeUndefined()
})

test('is what it was, whichever way it was written', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), number => {
      const decimal = readDecimal(String(number))
      expect(Number(decimal)).toBe(number)
      expect(decimal).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/)
    }),
  )
})

test('counts digits', () => {
  expect([decimalPlaces('5'), decimalPlaces('0.125')]).toEqual([0, 3])
  expect(['99.9', '100', '100.000001', '101', '1000'].map(decimal => isAbove(decimal, 100))).toEqual([
    false,
    false,
    true,
    true,
    true,
  ])
})
