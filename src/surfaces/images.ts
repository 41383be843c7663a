import { Elysia } from 'elysia'
import { readBody } from '@/exchange/admission/body.ts'
import type { Listener, OperationCall } from '@/exchange/call.ts'
import { runOperation } from '@/exchange/exchange.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import { Form, fieldsOf, readForm, readFormOrBody } from '@/exchange/operations/form.ts'
import { imageOperation } from '@/exchange/operations/images.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import type { ImageAction } from '@/formats/openai/images.ts'
import { readModel } from './body-call.ts'

/** OpenAI images: generations are JSON, edits JSON or a form, variations a form. */
export function images(gateway: Gateway, listener: Listener) {
  const run = (request: Request, read: OperationCall['read']) =>
    runOperation(gateway, { request, listener, surface: 'images', read })
  return new Elysia({ name: 'images' })
    .post('/v1/images/generations', ({ request }) => run(request, reader('generation', readBody)), {
      parse: 'none',
    })
    .post('/v1/images/edits', ({ request }) => run(request, reader('edit', readFormOrBody)), {
      parse: 'none',
    })
    .post('/v1/images/variations', ({ request }) => run(request, reader('variation', readForm)), {
      parse: 'none',
    })
}

function reader(action: ImageAction, read: typeof readFormOrBody): OperationCall['read'] {
  return async (request, terms, record) => {
    const body = await read(request, terms, record)
    if (body instanceof Form && body.files('image', 'image[]').length === 0)
      throw invalidRequest('image', 'expected a file')
    return imageOperation({ action, body, model: readModel(fieldsOf(body)) })
  }
}
