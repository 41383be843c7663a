import { asString, type JsonObject } from '@/json/json.ts'
import { Failure } from '@/simulator/failure.ts'
import { IMAGE_BASE64, IMAGE_TOKENS } from '@/simulator/script/script.ts'
import { eventStream, json, type OperationAnswer, tokensOf } from './answer.ts'

/** Generations, edits and variations: always the same pixel. */
export function images(body: JsonObject, createdSeconds: number): OperationAnswer {
  if (asString(body['model'])?.endsWith('refuse'))
    throw new Failure(400, 'Your request was rejected by the safety system.', { code: 'moderation_blocked' })
  const count = Number(body['n'] ?? 1)
  const textTokens = tokensOf(asString(body['prompt']) ?? '')
  const outputTokens = count * IMAGE_TOKENS
  const usage = {
    input_tokens: textTokens,
    input_tokens_details: { text_tokens: textTokens, image_tokens: 0 },
    output_tokens: outputTokens,
    total_tokens: textTokens + outputTokens,
  }
  const shape = {
    background: 'opaque',
    output_format: 'png',
    quality: asString(body['quality']) ?? 'high',
    size: asString(body['size']) ?? '1024x1024',
  }
  if (body['stream'] === true || body['stream'] === 'true') {
    const base = { ...shape, created_at: createdSeconds, b64_json: IMAGE_BASE64 }
    const partial = Array.from({ length: Number(body['partial_images'] ?? 0) }, (_, index) => ({
      type: 'image_generation.partial_image',
      ...base,
      partial_image_index: index,
    }))
    return eventStream([...partial, { type: 'image_generation.completed', ...base, usage }])
  }
  const image =
    body['response_format'] === 'url'
      ? { url: `data:image/png;base64,${IMAGE_BASE64}` }
      : { b64_json: IMAGE_BASE64 }
  return json({ created: createdSeconds, ...shape, data: Array.from({ length: count }, () => image), usage })
}
