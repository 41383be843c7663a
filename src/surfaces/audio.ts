import { Elysia } from 'elysia'
import { readBody } from '@/exchange/body.ts'
import { type Listener, runOperation } from '@/exchange/exchange.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import { speechOperation } from '@/exchange/speech.ts'
import { readModel } from './body-call.ts'

/** OpenAI audio: text to speech. */
export function audio(gateway: Gateway, listener: Listener) {
  return new Elysia({ name: 'audio' }).post(
    '/v1/audio/speech',
    ({ request }) => runOperation(gateway, { request, listener, surface: 'audio', read: readSpeech }),
    { parse: 'none' },
  )
}

async function readSpeech(request: Request, maxBodyBytes: number) {
  const body = await readBody(request, maxBodyBytes)
  return speechOperation(body, readModel(body.json))
}
