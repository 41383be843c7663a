import { expect, test } from 'bun:test'
import { readExpiry } from '@/commands/expiry.ts'

const NOW = Date.UTC(2026, 0, 1)

test.each([
  ['90m', '2026-01-01T01:30:00.000Z'],
  ['12h', '2026-01-01T12:00:00.000Z'],
  ['30d', '2026-01-31T00:00:00.000Z'],
  ['2w', '2026-01-15T00:00:00.000Z'],
  ['1y', '2027-01-01T00:00:00.000Z'],
  ['2027-01-31', '2027-01-31T00:00:00.000Z'],
  ['2027-01-31T12:00Z', '2027-01-31T12:00:00.000Z'],
  ['2027-01-31T12:00:05.5+02:00', '2027-01-31T10:00:05.500Z'],
])('%s is a moment', (text, expected) => {
  expect(readExpiry(text, NOW)?.toISOString()).toBe(expected)
})

test.each([
  '',
  '30',
  'd',
  '-1d',
  '1.5d',
  '2027',
  '2027-02-30',
  '2027-13-01',
  '2027-01-31T12:00',
  '31.1.2027',
  'tomorrow',
  '1constructor',
  '8000y',
  '200000y',
  '999999y',
])('"%s" is none', text => {
  expect(readExpiry(text, NOW)).toBeUndefined()
})
