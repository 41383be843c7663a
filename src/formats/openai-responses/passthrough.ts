import type { Passage, PassedBody, PassthroughCodec } from '@/formats/codec.ts'
import { modelEdits } from '@/formats/model-edit.ts'
import { openaiModel } from '@/formats/openai/models.ts'
import { asArray, asObject, asString, type JsonObject } from '@/json/json.ts'
import type { Texts } from '@/json/outline.ts'
import { sliceItems } from '@/json/slice.ts'
import type { JsonEdit } from '@/json/splice.ts'
import { ENCRYPTED } from './wire.ts'

/** See PassthroughCodec. */
export const passthrough: PassthroughCodec = {
  edits,
  takes: () => true,
  signatures,
  headers: ['openai-beta'],
  usualHeaders: Object.freeze({}),
  listening: () => ({ hidesUsage: false, readsAll: false, chunksOnly: false }),
}

function edits(body: PassedBody, { target, purpose, outputLimit, withoutReasoning }: Passage): JsonEdit[] {
  const { json } = body
  const found = modelEdits(json, target.model)
  if (outputLimit !== undefined) found.push({ path: ['max_output_tokens'], value: outputLimit })
  // Codex tells its vendor of the caller's machine here: session ids, local paths.
  if (json['client_metadata'] !== undefined) found.push({ path: ['client_metadata'], value: {} })
  const isLost = (item: JsonObject | undefined) =>
    (withoutReasoning && item?.['type'] === 'reasoning') ||
    (purpose === 'answer' && isLostReasoning(item, body.texts))
  for (const [place, value] of asArray(json['input']).entries()) {
    const item = asObject(value)
    if (isLost(item)) found.push({ path: ['input', place], remove: true })
    else if (withoutReasoning && item?.['id'] !== undefined && REASONED.has(item['type'])) {
      found.push({ path: ['input', place, 'id'], remove: true })
    }
  }
  return purpose === 'answer' ? [...found, ...statelessEdits(body, target.model)] : found
}

function signatures({ json, texts }: PassedBody): string[] {
  return asArray(json['input'])
    .map(asObject)
    .filter(item => item?.['type'] === 'reasoning')
    .flatMap(item => asString(item?.['encrypted_content']) ?? [])
    .map(text => texts.whole(text))
}

/** By their own id they belong to the reasoning before them, and the API refuses one without the other. */
const REASONED: ReadonlySet<unknown> = new Set(['function_call', 'custom_tool_call', 'message'])

/**
 * Keeps an upstream from keeping anything: what is kept is kept here, and a store that all of the gateway's callers
 * share is nobody's. So reasoning has to travel with the conversation.
 */
function statelessEdits({ bytes, json }: PassedBody, model: string): JsonEdit[] {
  const found: JsonEdit[] = []
  if (json['store'] !== false) found.push({ path: ['store'], value: false })
  const include = asArray(json['include'])
  if (!include.includes(ENCRYPTED) && openaiModel(model).reasons === true) {
    const spelled = include.length === 0 ? [] : (sliceItems(bytes, 'include') ?? [])
    found.push({ path: ['include'], text: `[${[...spelled, JSON.stringify(ENCRYPTED)].join(',')}]` })
  }
  return found
}

/**
 * Reasoning by reference only, which the AI SDK sends since it takes the vendor to keep everything: its text, if any, is no
 * use without what the upstream would have kept. It is taken out, as for any other upstream.
 */
function isLostReasoning(item: JsonObject | undefined, texts: Texts): boolean {
  const id = item?.['id']
  if (typeof id !== 'string' || !texts.whole(id).startsWith('rs_')) return false
  if (item?.['type'] === 'item_reference') return true
  return item?.['type'] === 'reasoning' && !item['encrypted_content'] && asArray(item['content']).length === 0
}
