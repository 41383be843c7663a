import { afterEach, describe, expect, test } from 'bun:test'
import {
  carriesWrappedSignature,
  signatureFor,
  unwrapSignature,
  unwrapThoughts,
  wrapInNameOf,
  wrapSignature,
  wrapThoughts,
} from '@/formats/signatures/signature.ts'
import { FORMATS } from '@/generation/format.ts'
import { reasoningPart } from '@/generation/part.ts'

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

describe('what another gateway wrapped', () => {
  afterEach(() => wrapInNameOf(undefined))

  const signature = { format: 'anthropic-messages', vendor: 'api.anthropic.com', value: 's' } as const
  const wrappedBy = (name: string) => {
    wrapInNameOf(name)
    return {
      name,
      signature: wrapSignature(signature, 'openai-responses'),
      thoughts: wrapThoughts([reasoningPart({ signature })]),
    }
  }

  test('is as opaque as what a vendor signs, and handed on as it is', () => {
    const other = wrappedBy('Other_01')
    const own = wrappedBy('Own-0001')
    expect(carriesWrappedSignature(Buffer.from(JSON.stringify(other)))).toBe(false)
    expect(unwrapThoughts(other.thoughts)).toBeUndefined()
    expect(unwrapSignature(other.signature, 'openai-responses')).toEqual({
      format: 'openai-responses',
      vendor: undefined,
      value: other.signature,
    })
    for (const value of [own.signature, own.thoughts])
      expect(carriesWrappedSignature(Buffer.from(`["${value}"]`))).toBe(true)
    expect(unwrapSignature(own.signature, 'openai-responses')).toEqual(signature)
    expect(unwrapThoughts(own.thoughts)).toEqual([reasoningPart({ signature })])
  })
})

test('a vendor that a caller made up is no fault of the gateway', () => {
  const value = Buffer.from('tollgate.1.2.%E0.s').toString('base64')
  expect(unwrapSignature(value, 'gemini-generate-content')).toEqual({
    format: 'gemini-generate-content',
    vendor: undefined,
    value,
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
