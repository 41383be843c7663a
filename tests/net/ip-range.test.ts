import { expect, test } from 'bun:test'
import { isRange, isWithin, subscriberOf } from '@/net/ip-range.ts'

test.each([
  ['10.1.2.3', '10.0.0.0/8', true],
  ['11.1.2.3', '10.0.0.0/8', false],
  ['10.1.2.3', '10.1.2.3', true],
  ['10.1.2.4', '10.1.2.3', false],
  ['10.1.2.3', '10.9.9.9/8', true],
  ['10.1.2.3', '10.1.2.3/32', true],
  ['192.168.0.1', '0.0.0.0/0', true],
  ['::ffff:10.1.2.3', '10.0.0.0/8', true],
  ['::ffff:a01:203', '10.0.0.0/8', true],
  ['10.1.2.3', '::ffff:10.0.0.0/104', true],
  ['10.1.2.3', '::/0', true],
  ['2001:db8::1', '0.0.0.0/0', false],
  ['2001:db8::1', '2001:db8::/32', true],
  ['2001:db9::1', '2001:db8::/32', false],
  ['2001:0db8:0:0:0:0:0:1', '2001:db8::1', true],
  ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7::', false],
  ['fe80::1%eth0', 'fe80::/10', true],
  ['::1', '::1/128', true],
  ['not an address', '0.0.0.0/0', false],
  ['', '::/0', false],
])('%s in %s: %p', (address, range, allowed) => {
  expect(isWithin(address, [range])).toBe(allowed)
})

test('an empty list admits nobody, a longer one whoever is in any of it', () => {
  expect(isWithin('10.0.0.1', [])).toBe(false)
  expect(isWithin('10.0.0.1', ['192.168.0.0/16', '10.0.0.0/24'])).toBe(true)
})

test.each([
  '10.0.0.0/33',
  '10.0.0/8',
  '10.0.0.0/',
  '10.0.0.0/8/8',
  '10.0.0.0/-1',
  '::/129',
  'example.com',
  '',
])('refuses the range %p, which then admits nobody', range => {
  expect(isRange(range)).toBe(false)
  expect(isWithin('10.0.0.1', [range])).toBe(false)
})

test.each([
  ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', true],
  ['2001:db8:0:1::1', '2001:db8:0:2::1', false],
  ['192.0.2.1', '192.0.2.2', false],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
  ['no address', 'another', false],
])('%s and %s are of one subscriber: %p', (one, other, same) => {
  expect(subscriberOf(one) === subscriberOf(other)).toBe(same)
})
