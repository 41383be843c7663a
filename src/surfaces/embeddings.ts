import { Elysia } from 'elysia'
import { readBody } from '@/exchange/admission/body.ts'
import type { BodyTerms } from '@/exchange/admission/body-arrival.ts'
import type { Listener } from '@/exchange/call.ts'
import { runOperation } from '@/exchange/exchange.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import { embeddingOperation } from '@/exchange/operations/embeddings.ts'
import { invalidRequest } from '@/formats/invalid.ts'
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
  const model = readModel(body.json)
  const { input } = body.json
  // Which kinds of input there are is between the caller and the model, but for there being one.
  if (typeof input !== 'string' && !(Array.isArray(input) && input.length > 0))
    throw invalidRequest('input', 'expected a text, a list of texts, or tokens')
  return embeddingOperation({ body, model, action: undefined })
}
