import { expect, test } from 'bun:test'
import { fingerprintOf } from '@/exchange/idempotency/fingerprint.ts'

interface Asked {
  path?: string
  headers?: Record<string, string>
  body?: string
}

function fingerprint({ path = '/v1/messages?a=1&b=2&key=mine', headers = {}, body = 'said' }: Asked): string {
  const request = new Request(`http://tollgate${path}`, { method: 'POST', headers })
  return Buffer.from(fingerprintOf(request, Buffer.from(body))).toString('hex')
}

const form = (boundary: string, quoted: string, said = 'said') => ({
  headers: { 'content-type': `multipart/form-data; boundary=${quoted}` },
  body: `--${boundary}\r\n\r\n${said}\r\n--${boundary}--\r\n`,
})

test.each<[string, Asked, Asked]>([
  ['brings another key', {}, { path: '/v1/messages?a=1&b=2&key=another' }],
  ['names the same in another order', {}, { path: '/v1/messages?b=2&a=1' }],
  ['says that losses are none', {}, { headers: { 'x-tollgate-strict': 'false' } }],
  ['is a form with another boundary', form('one', 'one'), form('two', '"two"')],
])('a request is the same when it %s', (_, one, other) => {
  expect(fingerprint(other)).toBe(fingerprint(one))
})

test.each<[string, Asked, Asked]>([
  ['path', {}, { path: '/v1/responses?a=1&b=2' }],
  ['query', {}, { path: '/v1/messages?a=1&b=3' }],
  ['body', {}, { body: 'said else' }],
  ['view of losses', {}, { headers: { 'x-tollgate-strict': 'true' } }],
  ['form', form('one', 'one'), form('one', 'one', 'said else')],
])('a request is another with another %s', (_, one, other) => {
  expect(fingerprint(other)).not.toBe(fingerprint(one))
})
