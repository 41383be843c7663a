import { Elysia } from 'elysia'
import type { Listener } from '@/exchange/call.ts'
import { runExchange } from '@/exchange/exchange.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import { readChatCall } from './body-call.ts'

/** OpenAI Chat Completions. */
export function chatCompletions(gateway: Gateway, listener: Listener) {
  return new Elysia({ name: 'chat-completions' }).post(
    '/v1/chat/completions',
    ({ request }) => runExchange(gateway, { request, listener, surface: 'chat', readCall: readChatCall }),
    { parse: 'none' },
  )
}
