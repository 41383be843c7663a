import { expect, test } from 'bun:test'
import { type ErrorKind, GatewayError } from '@/errors/gateway-error.ts'
import { errorResponse, headerText } from '@/exchange/relay/reply.ts'

const answerTo = (kind: ErrorKind, retryAfterMs?: number) =>
  errorResponse(new GatewayError(kind, 'no', { retryAfterMs }), 'r', 'chat').headers

test.each<ErrorKind>([
  'rate_limited',
  'too_many_concurrent',
  'upstream_rate_limited',
  'credit_reserved',
  'body_stalled',
  'no_channel',
  'billing_unavailable',
  'shutting_down',
  'overloaded',
])('nobody is told not to retry what a wait may mend: %s', kind => {
  expect(answerTo(kind).get('x-should-retry')).toBeNull()
})

test.each<ErrorKind>([
  'missing_api_key',
  'invalid_api_key',
  'credit_exhausted',
  'key_budget_exhausted',
  'ip_not_allowed',
  'account_suspended',
  'idempotency_conflict',
  'body_too_large',
  'upstream_error',
  'upstream_auth',
  'upstream_timeout',
  'internal_error',
])('clients, which retry by themselves, are told not to where it cannot help: %s', kind => {
  expect(answerTo(kind).get('x-should-retry')).toBe('false')
})

test.each<[ErrorKind, number | undefined, string | null]>([
  ['rate_limited', 1200, '2'],
  ['rate_limited', 0, '1'],
  ['credit_reserved', 3000, '3'],
  ['credit_exhausted', undefined, null],
  ['upstream_error', undefined, null],
])('%s that may be tried again in %p ms says so in whole seconds: %p', (kind, retryAfterMs, seconds) => {
  expect(answerTo(kind, retryAfterMs).get('retry-after')).toBe(seconds)
})

test.each<ErrorKind>(['rate_limited', 'too_many_concurrent', 'no_channel', 'shutting_down', 'overloaded'])(
  'a client that is to wait always hears for how long: %s',
  kind => {
    expect(Number(answerTo(kind).get('retry-after'))).toBeGreaterThan(0)
  },
)

test.each([
  ['a name of another script', '通义 max', '?? max'],
  ['what would begin a line of its own', 'a\r\nset-cookie: b', 'a??set-cookie: b'],
])('in a header %s is written with a ? for each character that is none of its own', (_, text, written) => {
  const answer = new Response(null, { headers: { 'x-tollgate-model': headerText(text) } })
  expect(answer.headers.get('x-tollgate-model')).toBe(written)
  expect([...answer.headers.keys()]).toEqual(['x-tollgate-model'])
})
