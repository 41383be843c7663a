import { expect, test } from 'bun:test'
import { REASON, TITLE } from '@/config/title.ts'

test.each([
  ['nothing', ''],
  ['spaces', ' \u00a0 '],
  ['a space of no width', '\u200b'],
  ['joiners alone', '\u200d\u200c'],
  ['a filler that is a letter', '\u3164'],
  ['a blank of Braille', '\u2800'],
  ['text that is turned around', 'laptop\u202egpj.exe'],
  ['an isolate', '\u2067a'],
  ['a sign of no width within', 'lap\u200btop'],
  ['a control character', 'lap\u0085top'],
  ['two lines', 'two\nlines'],
  ['a separator of lines', 'two\u2028lines'],
  ['half of a pair', '\ud800'],
  ['too much', 'x'.repeat(201)],
])('no title: %s', (_, text) => {
  expect(TITLE.test(text)).toBe(false)
})

test.each([
  'laptop',
  'x'.repeat(200),
  '\u{1f469}\u200d\u{1f4bb} at home',
  '\u2764\ufe0f',
  '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645',
  '\u05d0\u05d1',
])('a title: %s', text => {
  expect(TITLE.test(text)).toBe(true)
})

test('a reason may be longer, and is no more than that', () => {
  expect(REASON.test(`${'x'.repeat(499)}\u{1f469}`)).toBe(true)
  expect(REASON.test('x'.repeat(501))).toBe(false)
  expect(REASON.test('paid \u202e001 twice')).toBe(false)
})
