import { Elysia } from 'elysia'
import type { Listener } from '@/exchange/call.ts'
import { countTokens } from '@/exchange/count-tokens.ts'
import { runExchange } from '@/exchange/exchange.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import { readLimitedMessagesCall, readMessagesCall } from './body-call.ts'

/** Anthropic Messages. */
export function messages(gateway: Gateway, listener: Listener) {
  const call = (request: Request) => ({ request, listener, surface: 'messages' }) as const
  return new Elysia({ name: 'messages' })
    .post(
      '/v1/messages',
      ({ request }) => runExchange(gateway, { ...call(request), readCall: readLimitedMessagesCall }),
      { parse: 'none' },
    )
    .post(
      '/v1/messages/count_tokens',
      ({ request }) => countTokens(gateway, { ...call(request), readCall: readMessagesCall }),
      { parse: 'none' },
    )
}
