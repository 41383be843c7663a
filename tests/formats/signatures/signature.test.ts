import { describe, expect, test } from 'bun:test'
import {
  carriesWrappedSignature,
  signatureFor,
  unwrapSignature,
  unwrapThoughts,
  wrapSignature,
} from '@/formats/signatures/signature.ts'
import { FORMATS } from '@/generation/format.ts'

const VENDORS = ['anthropic', 'api.anthropic.com', '127.0.0.1:8080', 'ein Anbieter/ü.%2E', undefined]

describe('a signature in a foreign format', () => {
  test.each(VENDORS)('comes back with its vendor %p and every byte', vendor => {
    for (const format of FORMATS) {
      for (const callerFormat of FORMATS) {
        const signature = { format, vendor, value: 'EqQB.a+b/c==.tollgate.1.é' }
        const value = wrapSignature(signature, callerFormat)
        expect(unwrapSignature(value, callerFormat)).toEqual(signature)
      }
    }
  })

  test('goes to its maker and to nobody else', () => {
    const signature = { format: 'anthropic-messages', vendor: 'api.anthropic.com', value: 's' } as const
    const back = unwrapSignature(wrapSignature(signature, 'openai-responses'), 'openai-responses')
    expect(signatureFor(back, 'anthropic-messages', 'api.anthropic.com')).toBe('s')
    expect(signatureFor(back, 'anthropic-messages', 'api.example.com')).toBeUndefined()
    expect(signatureFor(back, 'openai-responses', 'api.anthropic.com')).toBeUndefined()
  })

  test('is found in a body by its bytes', () => {
    const value = wrapSignature(
      { format: 'anthropic-messages', vendor: 'a.b', value: 's' },
      'openai-responses',
    )
    expect(carriesWrappedSignature(Buffer.from(`{"encrypted_content":"${value}"}`))).toBe(true)
    expect(carriesWrappedSignature(Buffer.from('{"encrypted_content":"gAAAAAB"}'))).toBe(false)
  })
})

test('a signature of the caller in its own format is left as it is', () => {
  const signature = { format: 'anthropic-messages', vendor: undefined, value: 'EqQB' } as const
  expect(wrapSignature(signature, 'anthropic-messages')).toBe('EqQB')
  expect(unwrapSignature('EqQB', 'anthropic-messages')).toEqual(signature)
})

test.each(['EqQB', '', Buffer.from('tollgate.1.2.x.y').toString('base64')])('%s holds no thoughts', value => {
  expect(unwrapThoughts(value)).toBeUndefined()
})

test.each(['', 'null', '[', '{}', '[1]', '[{"signature":{"format":"nobody","value":"x"}}]'])(
  'what a caller made up (%s) is no thought',
  text => {
    expect(unwrapThoughts(Buffer.from(`tollgate.2.${text}`).toString('base64')) ?? []).toEqual([])
  },
)
