import type { Passage, PassedBody, PassthroughCodec } from '@/formats/codec.ts'
import { modelEdits } from '@/formats/model-edit.ts'
import {
  asArray,
  asNumber,
  asObject,
  asObjects,
  asString,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import type { Texts } from '@/json/outline.ts'
import type { JsonEdit } from '@/json/splice.ts'
import { hasAnthropicWords } from './anthropic-words.ts'
import { modelTraits } from './models.ts'
import { isThinkingBlock, thinkingText } from './reasoning-details.ts'
import { asksOpenaiForUsage, wantsUsage } from './reply.ts'
import { hasFlatTools } from './tools-decode.ts'
import { type VendorTraits, vendorTraits } from './vendors.ts'

/** See PassthroughCodec. */
export const passthrough: PassthroughCodec = {
  edits,
  takes: body => !hasFlatTools(body) && !hasAnthropicWords(body),
  signatures,
  headers: ['openai-beta'],
  usualHeaders: Object.freeze({}),
  listening: body => ({
    hidesUsage: !wantsUsage(body),
    readsAll: (asNumber(body['n']) ?? 1) > 1,
    chunksOnly: false,
  }),
}

function edits({ json, texts }: PassedBody, passage: Passage): JsonEdit[] {
  const { target, stream, outputLimit, withoutReasoning, lose } = passage
  const vendor = vendorTraits(target.vendor)
  const found = modelEdits(json, target.model)
  const { reasoningField = vendor.reasoningField } = target
  const isUsual = reasoningField === 'reasoning_content' && target.reasoningField === undefined
  if (withoutReasoning || vendor.isStrict || !isUsual) {
    const thoughts = reasoningEdits(json, texts, withoutReasoning ? undefined : reasoningField)
    if (thoughts.isLossy) lose('reasoningHistory')
    found.push(...thoughts.edits)
  }
  if (withoutReasoning) found.push(...thinkingPartEdits(json))
  // Usage is wanted of every stream; who does not know the field sends it unasked.
  if (!vendor.takesStreamOptions) {
    if (json['stream_options'] !== undefined) found.push({ path: ['stream_options'], remove: true })
  } else if (stream && !asksOpenaiForUsage(json)) {
    found.push({ path: ['stream_options', 'include_usage'], value: true })
  }
  if (vendor.knowsMaxTokensAlone) found.push(...limitEdits(json))
  if (outputLimit !== undefined) {
    const { isNewer } = modelTraits(target.model)
    // OpenAI has left the second behind, and others do not know the first.
    const name = isNewer || vendor.isOpenai ? 'max_completion_tokens' : 'max_tokens'
    found.push({ path: [name], value: outputLimit })
  }
  return vendor.checksCallIds ? [...found, ...callIdEdits(json, texts, vendor)] : found
}

/** Says the limit by its older name. */
function limitEdits({ max_completion_tokens: limit, max_tokens: older = null }: JsonObject): JsonEdit[] {
  if (limit === undefined) return []
  const removed: JsonEdit = { path: ['max_completion_tokens'], remove: true }
  return limit === null || older !== null ? [removed] : [removed, { path: ['max_tokens'], value: limit }]
}

/** Thoughts have no signature here: they are known by their words. */
function signatures({ json, texts }: PassedBody): string[] {
  return asArray(json['messages'])
    .map(asObject)
    .flatMap(message => [
      asString(message?.['reasoning_content'] ?? message?.['reasoning']) ?? '',
      ...asObjects(message?.['content']).filter(isThinkingBlock).map(thinkingText),
    ])
    .filter(text => text !== '')
    .map(text => texts.whole(text))
}

/** Where messages bring back what was thought. */
const THOUGHTS = ['reasoning_content', 'reasoning', 'reasoning_details', 'thinking_blocks'] as const

/**
 * Puts the thoughts of earlier turns into the field in which the vendor takes them, or takes them out: clients send them
 * as `reasoning_content`, whatever they came as, or as another vendor wrote them, and some vendors refuse what they do not
 * know.
 */
function reasoningEdits(json: JsonObject, texts: Texts, field: VendorTraits['reasoningField']) {
  let isLossy = false
  const edits = asArray(json['messages']).flatMap((value, place): JsonEdit[] => {
    const message = asObject(value)
    const named = THOUGHTS.filter(name => message?.[name] !== undefined)
    const found = named
      .filter(name => name !== field)
      .map((name): JsonEdit => ({ path: ['messages', place, name], remove: true }))
    if (field !== undefined && (message?.[field] ?? null) !== null) return found
    const text = asString(message?.['reasoning_content']) || asString(message?.['reasoning'])
    if (field !== undefined && text) {
      return [...found, { path: ['messages', place, field], value: texts.whole(text) }]
    }
    isLossy ||= named.some(name => message?.[name] !== null && message?.[name] !== '')
    return found
  })
  return { edits, isLossy }
}

/** Takes out the thoughts that stand among the parts of a message, as Mistral's do. */
function thinkingPartEdits(json: JsonObject): JsonEdit[] {
  return asArray(json['messages']).flatMap((value, place): JsonEdit[] => {
    const parts = asArray(asObject(value)?.['content'])
    const thoughts = [...parts.keys()].filter(index => isThinkingBlock(asObject(parts[index]) ?? {}))
    const path = ['messages', place, 'content']
    if (thoughts.length > 0 && thoughts.length === parts.length) return [{ path, value: '' }]
    return thoughts.map(index => ({ path: [...path, index], remove: true }))
  })
}

/** Another upstream may have named the calls of earlier turns in a way that this one refuses. */
function callIdEdits(json: JsonObject, texts: Texts, vendor: VendorTraits): JsonEdit[] {
  const found: JsonEdit[] = []
  const fit = (id: JsonValue | undefined, path: JsonEdit['path']) => {
    if (typeof id !== 'string') return
    const whole = texts.whole(id)
    const fitted = vendor.fitCallId(whole)
    if (fitted !== whole) found.push({ path, value: fitted })
  }
  for (const [place, value] of asArray(json['messages']).entries()) {
    const message = asObject(value)
    fit(message?.['tool_call_id'], ['messages', place, 'tool_call_id'])
    for (const [index, call] of asArray(message?.['tool_calls']).entries()) {
      fit(asObject(call)?.['id'], ['messages', place, 'tool_calls', index, 'id'])
    }
  }
  return found
}
