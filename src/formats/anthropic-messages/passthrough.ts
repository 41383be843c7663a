import type { Passage, PassedBody, PassthroughCodec } from '@/formats/codec.ts'
import type { JsonEdit } from '@/json/splice.ts'

/** See PassthroughCodec. */
export const passthrough: PassthroughCodec = {
  edits,
  headers: ['anthropic-version', 'anthropic-beta'],
  // The API wants a version, and some callers forget it.
  usualHeaders: Object.freeze({ 'anthropic-version': '2023-06-01' }),
  listening: () => ({ hidesUsage: false, readsAll: false, hidesComments: false }),
}

function edits({ json }: PassedBody, { target, outputLimit }: Passage): JsonEdit[] {
  const found: JsonEdit[] = []
  if (json['model'] !== undefined && json['model'] !== target.model) {
    found.push({ path: ['model'], value: target.model })
  }
  if (outputLimit !== undefined) found.push({ path: ['max_tokens'], value: outputLimit })
  return found
}
