import { expect, test } from 'bun:test'
import { noteSent, withoutSent } from '@/telemetry/sent-credentials.ts'

test('a credential that was sent is taken out of any text, also one that begins with another', () => {
  noteSent('plain.secret+1')
  noteSent('plain.secret+1 and more')
  expect(withoutSent('a plain.secret+1 and more, plain.secret+1; plainXsecret+1', '[key]')).toBe(
    'a [key], [key]; plainXsecret+1',
  )
})

test('a word that stands for no key is left', () => {
  noteSent('not-needed')
  expect(withoutSent('an API key is not-needed', '[key]')).toBe('an API key is not-needed')
})
