import { expect } from 'bun:test'
import type { TestGateway } from '#tests/support/gateway/gateway.ts'

/** The first gateway of a run waits for a database server. */
export const START_MS = 60_000

/** The least that each surface takes for a call, by what serves it. */
export const CALLS = {
  chat: {
    path: (_model: string) => '/v1/chat/completions',
    body: (model: string) => ({ model, messages: [{ role: 'user', content: 'hi' }] }) as object,
  },
  responses: {
    path: (_model: string) => '/v1/responses',
    body: (model: string) => ({ model, input: 'hi' }) as object,
  },
  messages: {
    path: (_model: string) => '/v1/messages',
    body: (model: string) =>
      ({ model, max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }) as object,
  },
  gemini: {
    path: (model: string) => `/v1beta/models/${model}:generateContent`,
    body: (_model: string) => ({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }) as object,
  },
} as const

export type Surface = keyof typeof CALLS
export const SURFACES: readonly Surface[] = ['chat', 'responses', 'messages', 'gemini']

/** Whatever can be sent as a body. */
export type Sent = NonNullable<RequestInit['body']>

interface CallOptions {
  /** `SURFACE/echo` unless said. */
  model?: string
  /** What is sent instead of the surface's own body. */
  body?: Sent
  /** Beside the key. */
  headers?: Record<string, string>
  key?: string
}

export function call(gateway: TestGateway, surface: Surface, options: CallOptions = {}): Promise<Response> {
  const model = options.model ?? `${surface}/echo`
  return gateway.post(CALLS[surface].path(model), options.body ?? CALLS[surface].body(model), options)
}

/** What an error is, whichever way a surface spells it. */
interface ToldError {
  status: number
  code: string
  message: string
  param: string | null
}

/** The words of each vendor for a status: OpenAI's type, Anthropic's type, Google's status. */
const WORDS: Record<number, readonly [string, string, string]> = {
  400: ['invalid_request_error', 'invalid_request_error', 'INVALID_ARGUMENT'],
  401: ['authentication_error', 'authentication_error', 'UNAUTHENTICATED'],
  402: ['insufficient_quota', 'billing_error', 'FAILED_PRECONDITION'],
  403: ['permission_error', 'permission_error', 'PERMISSION_DENIED'],
  404: ['invalid_request_error', 'not_found_error', 'NOT_FOUND'],
  408: ['invalid_request_error', 'timeout_error', 'DEADLINE_EXCEEDED'],
  409: ['conflict', 'conflict_error', 'ABORTED'],
  413: ['invalid_request_error', 'request_too_large', 'INVALID_ARGUMENT'],
  415: ['invalid_request_error', 'invalid_request_error', 'INVALID_ARGUMENT'],
  422: ['invalid_request_error', 'invalid_request_error', 'INVALID_ARGUMENT'],
  426: ['invalid_request_error', 'invalid_request_error', 'FAILED_PRECONDITION'],
  429: ['rate_limit_error', 'rate_limit_error', 'RESOURCE_EXHAUSTED'],
  502: ['api_error', 'api_error', 'INTERNAL'],
  503: ['api_error', 'overloaded_error', 'UNAVAILABLE'],
  504: ['api_error', 'timeout_error', 'DEADLINE_EXCEEDED'],
}

/**
 * Holds an error to the exact shape of its surface: every field, the word for its status, the request id at the end
 * of its message and in the headers, and the headers that tell clients whether to try again.
 */
export async function readError(response: Response, surface: Surface): Promise<ToldError> {
  const { status, headers } = response
  const id = headers.get('x-request-id') ?? ''
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  expect(headers.get('request-id')).toBe(surface === 'messages' ? id : null)
  expect(headers.get('content-type')).toStartWith('application/json')
  if (status === 429 || status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  const wantsNoRetry = [401, 402, 403, 409, 413, 415, 426, 500, 502, 504].includes(status)
  if (wantsNoRetry) expect(headers.get('x-should-retry')).toBe('false')
  if (status === 429) expect(headers.get('x-should-retry')).toBeNull()
  const body: unknown = await response.json()
  const told = SHAPES[surface](body as Body, status, id)
  expect(told.message).toEndWith(` (request id: ${id})`)
  expect(told.message.split('(request id:')).toHaveLength(2)
  return { status, ...told }
}

// biome-ignore lint/suspicious/noExplicitAny: the body of an answer, which the expectations below take apart
type Body = any

type Shape = (body: Body, status: number, id: string) => Omit<ToldError, 'status'>

const openai: Shape = (body, status) => {
  const { message, code, param } = body.error
  expect(body).toEqual({ error: { message: expect.any(String), type: WORDS[status]?.[0], param, code } })
  expect(param === null || typeof param === 'string').toBe(true)
  return { message, code, param }
}

const SHAPES: Record<Surface, Shape> = {
  chat: openai,
  responses: openai,
  messages: (body, status, id) => {
    const { message, code, details } = body.error
    const told = { type: WORDS[status]?.[1], message: expect.any(String), code }
    expect(body).toEqual({
      type: 'error',
      error: details === undefined ? told : { ...told, details: expect.any(Object) },
      request_id: id,
    })
    return { message, code, param: null }
  },
  gemini: (body, status) => {
    const { message, details } = body.error
    expect(body).toEqual({
      error: { code: status, message: expect.any(String), status: WORDS[status]?.[2], details },
    })
    expect(details[0]['@type']).toBe('type.googleapis.com/google.rpc.ErrorInfo')
    return { message, code: details[0].reason, param: null }
  },
}
