import { Elysia } from 'elysia'
import { type Listener, runExchange } from '@/exchange/exchange.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import { readBodyCall } from './body-call.ts'

/** Anthropic Messages. */
export function messages(gateway: Gateway, listener: Listener) {
  return new Elysia({ name: 'messages' }).post(
    '/v1/messages',
    ({ request }) => runExchange(gateway, { request, listener, surface: 'messages', readCall: readBodyCall }),
    { parse: 'none' },
  )
}
