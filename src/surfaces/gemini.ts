import { Elysia } from 'elysia'
import { GatewayError } from '@/errors/gateway-error.ts'
import { type CallFacts, type Listener, runExchange } from '@/exchange/exchange.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import { errorResponse } from '@/exchange/reply.ts'
import { readModelPath } from './model-path.ts'

/** Google's SDK 3 and later says `/v1`, the ones before it `/v1beta`, and some callers `/v1alpha`. */
const VERSIONS = ['/v1', '/v1beta', '/v1alpha'] as const

/** Gemini's native surface: POST {version}/models/{model}:{action}. */
export function gemini(gateway: Gateway, listener: Listener) {
  const app = new Elysia({ name: 'gemini' })
  for (const version of VERSIONS) {
    app.post(
      `${version}/models/*`,
      ({ request, params }) => answer(gateway, listener, request, params['*']),
      { parse: 'none' },
    )
  }
  return app
}

function answer(
  gateway: Gateway,
  listener: Listener,
  request: Request,
  rest: string,
): Response | Promise<Response> {
  const call = readAction(rest, new URL(request.url).searchParams)
  if (call instanceof GatewayError) return errorResponse(call, gateway.newRequestId(), 'gemini')
  return runExchange(gateway, { request, listener, surface: 'gemini', readCall: () => call })
}

/** The call that a path names, or why it names none. The model may hold slashes and colons: the last colon divides. */
function readAction(rest: string, query: URLSearchParams): CallFacts | GatewayError {
  const path = readModelPath(rest)
  if (path === undefined) return new GatewayError('invalid_request', 'The path is not valid percent-encoding')
  const colon = path.lastIndexOf(':')
  const model = path.slice(0, Math.max(colon, 0))
  const action = path.slice(colon + 1)
  const framing = query.get('alt') === 'sse' ? 'sse' : 'json-array'
  if (model !== '' && action === 'generateContent') return { model, stream: false, framing: 'sse' }
  if (model !== '' && action === 'streamGenerateContent') return { model, stream: true, framing }
  return new GatewayError('unknown_path', 'Nothing is served at this path')
}
