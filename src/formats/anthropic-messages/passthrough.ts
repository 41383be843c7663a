import type { Passage, PassedBody, PassthroughCodec } from '@/formats/codec.ts'
import { modelEdits } from '@/formats/model-edit.ts'
import { asArray, asObject, asString, type JsonObject } from '@/json/json.ts'
import type { JsonEdit } from '@/json/splice.ts'
import { VERSION } from './wire.ts'

/** See PassthroughCodec. */
export const passthrough: PassthroughCodec = {
  edits,
  takes: () => true,
  signatures,
  headers: ['anthropic-version', 'anthropic-beta'],
  usualHeaders: VERSION,
  listening: () => ({ hidesUsage: false, readsAll: false, chunksOnly: false }),
}

function edits({ json }: PassedBody, { target, outputLimit, withoutReasoning }: Passage): JsonEdit[] {
  const found = modelEdits(json, target.model)
  if (outputLimit !== undefined) found.push({ path: ['max_tokens'], value: outputLimit })
  return withoutReasoning ? [...found, ...thoughtlessEdits(json)] : found
}

function signatures({ json, texts }: PassedBody): string[] {
  return asArray(json['messages'])
    .flatMap(message => asArray(asObject(message)?.['content']).map(asObject))
    .filter(block => THOUGHTS.has(block?.['type']))
    .flatMap(block => asString(block?.['signature'] ?? block?.['data']) ?? [])
    .map(text => texts.whole(text))
}

const THOUGHTS: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])

/** Takes the thoughts out of the conversation, and messages that held nothing else. */
function thoughtlessEdits(json: JsonObject): JsonEdit[] {
  return asArray(json['messages']).flatMap((value, place): JsonEdit[] => {
    const blocks = asArray(asObject(value)?.['content'])
    const thoughts = [...blocks.keys()].filter(index => THOUGHTS.has(asObject(blocks[index])?.['type']))
    if (thoughts.length > 0 && thoughts.length === blocks.length) {
      return [{ path: ['messages', place], remove: true }]
    }
    return thoughts.map(index => ({ path: ['messages', place, 'content', index], remove: true }))
  })
}
