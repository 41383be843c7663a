import { describe, expect, test } from 'bun:test'
import { callerBy } from '#tests/support/caller.ts'
import { admitCaller } from '@/exchange/admission/admission.ts'

describe('a key that may be used from some addresses only', () => {
  const caller = { ...callerBy(1, 1), allowIps: ['127.0.0.0/8', '::/0'] }

  test('is admitted from one of them', () => {
    expect(() => admitCaller(caller, () => '127.0.0.1')).not.toThrow()
  })

  test('is refused from any other, and when the socket is gone and with it the address', () => {
    const refused = expect.objectContaining({ kind: 'ip_not_allowed' })
    expect(() => admitCaller({ ...caller, allowIps: ['127.0.0.0/8'] }, () => '192.0.2.1')).toThrow(refused)
    expect(() => admitCaller(caller, () => undefined)).toThrow(refused)
  })
})

test('a key without a list is admitted from everywhere, and nobody asks for its address', () => {
  const asked = () => {
    throw new Error('asked')
  }
  expect(() => admitCaller(callerBy(1, 1), asked)).not.toThrow()
})
