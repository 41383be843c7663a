import { Elysia } from 'elysia'
import { readBody } from '@/exchange/admission/body.ts'
import type { BodyTerms } from '@/exchange/admission/body-arrival.ts'
import { type Listener, runOperation } from '@/exchange/exchange.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import { embeddingOperation } from '@/exchange/operations/embeddings.ts'
import { readModel } from './body-call.ts'

/** OpenAI embeddings. */
export function embeddings(gateway: Gateway, listener: Listener) {
  return new Elysia({ name: 'embeddings' }).post(
    '/v1/embeddings',
    ({ request }) =>
      runOperation(gateway, { request, listener, surface: 'embeddings', read: readEmbeddings }),
    { parse: 'none' },
  )
}

async function readEmbeddings(request: Request, terms: BodyTerms) {
  const body = await readBody(request, terms)
  return embeddingOperation({ body, model: readModel(body.json), action: undefined })
}
