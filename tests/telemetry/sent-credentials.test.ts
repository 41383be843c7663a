import { beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { noteSent, withoutSent } from '@/telemetry/sent-credentials.ts'

test('a credential that was sent is taken out of any text, also one that begins with another', () => {
  noteSent('plain.secret+1')
  noteSent('plain.secret+1 and more')
  expect(withoutSent('a plain.secret+1 and more, plain.secret+1; plainXsecret+1', '[key]')).toBe(
    'a [key], [key]; plainXsecret+1',
  )
})

test('twelve letters are a credential, also at the end of a text', () => {
  noteSent('twelve.signs')
  expect(withoutSent('refused: twelve.signs', '[key]')).toBe('refused: [key]')
})

test('a word that stands for no key is left', () => {
  noteSent('not-needed')
  expect(withoutSent('an API key is not-needed', '[key]')).toBe('an API key is not-needed')
})

describe('a credential is found in what an upstream made of it', () => {
  const key = 'A1-"secret"/of+a=vendor'
  beforeEach(() => noteSent(key))

  test.each([
    ['a query', encodeURIComponent(key)],
    ['JSON in a text', JSON.stringify(key).slice(1, -1)],
    ['a dump', Buffer.from(key).toString('hex').toUpperCase()],
    ['small letters', key.toLowerCase()],
  ])('%s', (_, spelled) => {
    expect(withoutSent(`refused: ${spelled}, bye`, '[key]')).toBe('refused: [key], bye')
  })

  test.each(['', 'u:', 'me:', 'you:'])('base64 behind "%s", but for the letters at its ends', before => {
    const clean = withoutSent(`Basic ${Buffer.from(before + key).toString('base64')}`, '[key]')
    expect(clean).toMatch(/^Basic \S{0,6}\[key\]\S{0,4}$/)
  })
})

test('base64 of a credential that something stands behind, as a user without a password', () => {
  const key = 'users.without.password'
  noteSent(key)
  for (const behind of [':', ':x', ': and more']) {
    const clean = withoutSent(`Basic ${Buffer.from(key + behind).toString('base64')}`, '[key]')
    expect(clean).toMatch(/^Basic \[key\]\S{1,16}$/)
  }
})

test('one that goes out with every request is spelled once', () => {
  noteSent('sent-with-every-request')
  using bytes = spyOn(Buffer, 'from')
  noteSent('sent-with-every-request')
  expect(bytes).not.toHaveBeenCalled()
})

test('as many as there can be are still looked for', () => {
  const keys = Array.from({ length: 10_000 }, (_, index) => `many-${index}-${'k'.repeat(160)}`)
  for (const key of keys) noteSent(key)
  expect(withoutSent(`${keys[0]} ${keys[9_999]}`, '[key]')).toBe('[key] [key]')
})

test('many of one vendor, which all begin alike, are noted about as fast as many that do not', () => {
  const work = (keyOf: (index: number) => string) => {
    const before = process.cpuUsage()
    for (let index = 0; index < 5_000; index += 1) noteSent(keyOf(index))
    return process.cpuUsage(before).user
  }
  const behind = 'k'.repeat(60)
  const unlike = work(index => `${index}-of-a-vendor-${behind}`)
  expect(work(index => `of-one-vendor-${index}-${behind}`)).toBeLessThan(8 * unlike)
})

test('of more than that the oldest are forgotten, and no other that begins alike', () => {
  const [alone, first, second] = ['is the only one', 'begins alike, first', 'begins alike, second']
  for (const key of [alone, first, second]) noteSent(key)
  for (let others = 0; others < 9_999; others += 1) noteSent(`${others} is one of many`)
  expect(withoutSent(`${alone}, ${first}, ${second}`, '[key]')).toBe(`${alone}, ${first}, [key]`)
})
