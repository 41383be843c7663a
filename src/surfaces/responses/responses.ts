import { Elysia } from 'elysia'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { Listener } from '@/exchange/call.ts'
import { countTokens } from '@/exchange/count-tokens.ts'
import { errorResponse } from '@/exchange/relay/reply.ts'
import { compactResponse } from '@/exchange/responses/compact.ts'
import type { ResponseGateway } from '@/exchange/responses/kept-responses.ts'
import { runResponse, stateForReading } from '@/exchange/responses/response-exchange.ts'
import { readInputCall } from '@/surfaces/body-call.ts'
import { ResponseSockets } from './response-sockets.ts'
import { storedResponses } from './stored-responses.ts'

/** OpenAI Responses. */
export function responses(gateway: ResponseGateway, listener: Listener) {
  const call = (request: Request) =>
    ({ request, listener, surface: 'responses', readCall: readInputCall }) as const
  return new Elysia({ name: 'responses' })
    .post('/v1/responses', ({ request }) => runResponse(gateway, call(request)), { parse: 'none' })
    .post(
      '/v1/responses/input_tokens',
      ({ request }) => countTokens(gateway, { ...call(request), state: stateForReading(gateway) }),
      {
        parse: 'none',
      },
    )
    .post('/v1/responses/compact', ({ request }) => compactResponse(gateway, call(request)), {
      parse: 'none',
    })
    .use(storedResponses(gateway, listener))
    .get('/v1/responses', ({ request }) => {
      // Codex tries a WebSocket first and falls back to POST on a 426; a 404 would look like a missing route.
      const error = ResponseSockets.isUpgrade(request)
        ? new GatewayError('websocket_unsupported', 'Responses over WebSocket are not served here; use POST')
        : new GatewayError('unknown_path', 'Nothing is served at GET /v1/responses')
      return errorResponse(error, gateway.newRequestId(), 'responses')
    })
}
