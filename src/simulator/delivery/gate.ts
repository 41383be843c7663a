import type { Format } from '@/generation/format.ts'
import { Failure } from '@/simulator/failure.ts'
import { readSteering, type Steering } from '@/simulator/script/steering.ts'

/** Any key is good, none is a 401; each vendor looks in its own places. */
export function requireKey(format: Format, headers: Headers, query: URLSearchParams): void {
  const bearer = /^Bearer \S/i.test(headers.get('authorization') ?? '')
  switch (format) {
    case 'anthropic-messages':
      if (bearer || headers.get('x-api-key')) return
      throw new Failure(401, 'x-api-key header is required')
    case 'gemini-generate-content':
      if (bearer || headers.get('x-goog-api-key') || query.get('key')) return
      throw new Failure(401, 'Request is missing required authentication credential.', {
        code: 'CREDENTIALS_MISSING',
      })
    default:
      if (bearer) return
      throw new Failure(
        401,
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth.",
        { code: 'invalid_api_key' },
      )
  }
}

/** The steering of a model name; the vendor's 404 when the simulator does not know it. */
export function requireModel(format: Format, model: string): Steering {
  const steering = readSteering(model)
  if (steering !== undefined) return steering
  throw new Failure(404, UNKNOWN_MODEL[format](model), { code: 'model_not_found', param: 'model' })
}

const UNKNOWN_MODEL = {
  'openai-chat-completions': model =>
    `The model \`${model}\` does not exist or you do not have access to it.`,
  'openai-responses': model => `The requested model '${model}' does not exist.`,
  'anthropic-messages': model => `model: ${model}`,
  'gemini-generate-content': model =>
    `models/${model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`,
} satisfies Record<Format, (model: string) => string>
