import { Elysia } from 'elysia'
import { readBody } from '@/exchange/admission/body.ts'
import type { BodyTerms } from '@/exchange/admission/body-arrival.ts'
import type { Listener, OperationCall } from '@/exchange/call.ts'
import { runOperation } from '@/exchange/exchange.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import { fieldsOf, readForm } from '@/exchange/operations/form.ts'
import { speechOperation } from '@/exchange/operations/speech.ts'
import { type TranscriptionKind, transcriptionOperation } from '@/exchange/operations/transcription.ts'
import { readModel } from './body-call.ts'

/** OpenAI audio: text to speech, and sound to text. */
export function audio(gateway: Gateway, listener: Listener) {
  const run = (request: Request, read: OperationCall['read']) =>
    runOperation(gateway, { request, listener, surface: 'audio', read })
  return new Elysia({ name: 'audio' })
    .post('/v1/audio/speech', ({ request }) => run(request, readSpeech), { parse: 'none' })
    .post('/v1/audio/transcriptions', ({ request }) => run(request, readSound('transcription')), {
      parse: 'none',
    })
    .post('/v1/audio/translations', ({ request }) => run(request, readSound('translation')), {
      parse: 'none',
    })
}

function readSound(kind: TranscriptionKind): OperationCall['read'] {
  return async (request, terms, record) => {
    const form = await readForm(request, terms, record)
    return transcriptionOperation(form, kind, readModel(fieldsOf(form)))
  }
}

async function readSpeech(request: Request, terms: BodyTerms) {
  const body = await readBody(request, terms)
  return speechOperation(body, readModel(body.json))
}
