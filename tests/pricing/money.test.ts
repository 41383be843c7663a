import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { formatMoney, parseMoney } from '@/pricing/money.ts'

test.each([
  ['5.00', 5_000_000_000n],
  ['4.999871250', 4_999_871_250n],
  ['0', 0n],
  ['0.000000001', 1n],
  ['-1.5', -1_500_000_000n],
  ['9223372036.854775807', 2n ** 63n - 1n],
])('reads %s exactly', (text, nano) => {
  expect(parseMoney(text)).toBe(nano)
})

test.each([
  '',
  '.',
  '5.',
  '.5',
  '1e3',
  '1,5',
  '+1',
  ' 1',
  '0.0000000001',
  '9223372036.854775808',
  'NaN',
  '--1',
])('refuses %p instead of guessing', text => {
  expect(parseMoney(text)).toBeUndefined()
})

test.each([
  [4_999_871_250n, '4.999871250'],
  [0n, '0.000000000'],
  [-1n, '-0.000000001'],
  [1_000_000_000n, '1.000000000'],
])('writes %p with nine decimals', (nano, text) => {
  expect(formatMoney(nano)).toBe(text)
})

test('reads back what it wrote, over the whole range of the ledger', () => {
  fc.assert(
    fc.property(fc.bigInt(-(2n ** 63n) + 1n, 2n ** 63n - 1n), nano => parseMoney(formatMoney(nano)) === nano),
  )
})
