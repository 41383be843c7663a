import { describe, expect, test } from 'bun:test'
import { codec } from '#tests/formats/gemini-generate-content/fixtures.ts'
import { type ErrorKind, GatewayError } from '@/errors/gateway-error.ts'

const ID = '0198c0de'

describe('errors', () => {
  test.each<[ErrorKind, number, string]>([
    ['invalid_request', 400, 'INVALID_ARGUMENT'],
    ['model_not_found', 400, 'INVALID_ARGUMENT'],
    ['invalid_api_key', 401, 'UNAUTHENTICATED'],
    ['credit_exhausted', 402, 'FAILED_PRECONDITION'],
    ['account_suspended', 403, 'PERMISSION_DENIED'],
    ['not_found', 404, 'NOT_FOUND'],
    ['idempotency_conflict', 409, 'ABORTED'],
    ['body_too_large', 413, 'INVALID_ARGUMENT'],
    ['unsupported_encoding', 415, 'INVALID_ARGUMENT'],
    ['rate_limited', 429, 'RESOURCE_EXHAUSTED'],
    ['internal_error', 500, 'INTERNAL'],
    ['upstream_error', 502, 'INTERNAL'],
    ['no_channel', 503, 'UNAVAILABLE'],
    ['upstream_timeout', 504, 'DEADLINE_EXCEEDED'],
  ])('%s is %d %s', (kind, code, status) => {
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: kind, domain: 'tollgate' },
    ]
    const message = `No (request id: ${ID})`
    expect(codec.encodeError(new GatewayError(kind, 'No'), ID)).toEqual({
      error: { code, message, status, details },
    })
  })

  test('edge 80: a retry delay is a RetryInfo, and is read back', () => {
    const error = new GatewayError('rate_limited', 'Slow down', { retryAfterMs: 34_400, param: 'x' })
    const body = codec.encodeError(error, ID)
    expect(body).toMatchObject({
      error: {
        details: [
          { metadata: { param: 'x' } },
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' },
        ],
      },
    })
    for (const text of [JSON.stringify(body), JSON.stringify([body])]) {
      expect(codec.decodeFault(429, text)).toMatchObject({
        status: 429,
        retryAfterMs: 34_400,
        code: 'rate_limited',
      })
    }
  })

  test('edge 80: a bad key as 400 is told by its reason', () => {
    const body = {
      error: {
        code: 400,
        message: 'API key not valid. Please pass a valid API key.',
        status: 'INVALID_ARGUMENT',
        details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
      },
    }
    expect(codec.decodeFault(400, JSON.stringify(body))).toMatchObject({
      status: 400,
      code: 'API_KEY_INVALID',
    })
  })

  test('in a passthrough stream an error is one event', () => {
    const text = codec.encodeErrorEvent(new GatewayError('upstream_error', 'Gone'), ID, undefined)
    expect(text).toMatch(/^data: \{"error":\{"code":502,[^\r\n]*\}\r\n\r\n$/)
  })
})

test('tool names of the API are accepted, others are not', () => {
  const { pattern } = codec.toolNames({ model: 'm', vendor: 'google', maxOutputTokens: undefined })
  for (const name of ['f', '_a.b:c-d', 'a'.repeat(64)]) expect(pattern.test(name)).toBe(true)
  for (const name of ['', '1a', 'a b', 'a/b', 'a'.repeat(65)]) expect(pattern.test(name)).toBe(false)
})
