import { expect, test } from 'bun:test'
import { Refusal } from '@/errors/refusal.ts'
import { deriveKey, secretBox } from '@/secrets/secret-box.ts'

const box = secretBox('a secret of more than thirty-two bytes')

test('opens what it sealed', () => {
  expect(box.open(box.seal('sk-upstream ключ'))).toBe('sk-upstream ключ')
  expect(box.open(box.seal(''))).toBe('')
  const bytes = Uint8Array.of(0, 255, 128)
  expect(new Uint8Array(box.openBytes(box.seal(bytes)))).toEqual(bytes)
})

test('opens what was sealed before: what lies in databases stays readable', () => {
  const sealed = Buffer.from('AVu2Wu1JqnmSa3dfVDDD+JDQq2k03f4nA7CIyL5kVtB7Ruv62gy96Q==', 'base64')
  expect(box.open(sealed)).toBe('sk-upstream')
})

test('never seals one text to the same bytes twice', () => {
  expect(Buffer.from(box.seal('x')).equals(Buffer.from(box.seal('x')))).toBe(false)
})

test('tells a wrong secret in words an operator understands', () => {
  const other = secretBox('another secret of more than 32 bytes')
  expect(() => other.open(box.seal('x'))).toThrow('TOLLGATE_SECRET is not the one')
  const made = secretBox('one that was made anew in place of it', 'data/secret')
  expect(() => made.open(box.seal('x'))).toThrow('data/secret is not the one')
})

test('refuses a sealed value with any byte changed or cut off', () => {
  const sealed = box.seal('upstream key')
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Uint8Array.from(sealed, (byte, index) => (index === at ? byte ^ 1 : byte))
    expect(() => box.open(changed)).toThrow(Refusal)
    expect(() => box.open(sealed.subarray(0, at))).toThrow(Refusal)
  }
})

test('gives each purpose a key of its own', () => {
  expect(deriveKey('s', 'sessions')).not.toEqual(deriveKey('s', 'secret box'))
  expect(deriveKey('s', 'sessions')).toEqual(deriveKey('s', 'sessions'))
})

test('tells deployments apart by names that fit any text, the same with each start', () => {
  expect(secretBox('a secret of more than thirty-two bytes').deployment).toBe(box.deployment)
  expect(secretBox('another secret of more than 32 bytes').deployment).not.toBe(box.deployment)
  expect(box.deployment).toMatch(/^[\w-]{8}$/)
})
