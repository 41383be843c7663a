import { Elysia } from 'elysia'
import { readBody } from '@/exchange/admission/body.ts'
import type { Listener, OperationCall } from '@/exchange/call.ts'
import { runOperation } from '@/exchange/exchange.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import { isForm, readForm } from '@/exchange/operations/form.ts'
import { imageOperation } from '@/exchange/operations/images.ts'
import { invalidRequest } from '@/formats/invalid.ts'
import type { ImageAction } from '@/formats/openai/images.ts'
import { readModel } from './body-call.ts'

/** OpenAI images: generations are JSON, edits JSON or a form, variations a form. */
export function images(gateway: Gateway, listener: Listener) {
  const run = (request: Request, read: OperationCall['read']) =>
    runOperation(gateway, { request, listener, surface: 'images', read })
  return new Elysia({ name: 'images' })
    .post('/v1/images/generations', ({ request }) => run(request, readJson('generation')), { parse: 'none' })
    .post(
      '/v1/images/edits',
      ({ request }) =>
        run(request, isForm(request.headers.get('content-type')) ? readParts('edit') : readJson('edit')),
      { parse: 'none' },
    )
    .post('/v1/images/variations', ({ request }) => run(request, readParts('variation')), { parse: 'none' })
}

function readJson(action: ImageAction): OperationCall['read'] {
  return async (request, terms) => {
    const body = await readBody(request, terms)
    return imageOperation({ action, body, model: readModel(body.json) })
  }
}

function readParts(action: ImageAction): OperationCall['read'] {
  return async (request, terms, record) => {
    const form = await readForm(request, terms, record)
    if (form.files('image', 'image[]').length === 0) throw invalidRequest('image', 'expected a file')
    return imageOperation({ action, body: form, model: readModel({ model: form.value('model') }) })
  }
}
