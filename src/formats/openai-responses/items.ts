import { imageTypeOf } from '@/formats/openai/image-type.ts'
import { unwrapSignature } from '@/formats/signatures/signature.ts'
import { type MediaPart, mediaPart, type OpaquePart, type ReasoningPart } from '@/generation/part.ts'
import {
  asArray,
  asObject,
  asString,
  asStrings,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import { FORMAT } from './wire.ts'

/** A message's content parts; some backends write its text in their place. */
export function messageContents(item: JsonObject): readonly JsonValue[] {
  const { content } = item
  return typeof content === 'string' ? [{ type: 'output_text', text: content }] : asArray(content)
}

/** Content of a kind that no message of an answer has today. It is no item, and so has nothing to be written as. */
export function strangeContent(part: JsonObject): OpaquePart {
  const name = asString(part['type']) ?? 'content'
  return { type: 'opaque', format: FORMAT, name, value: null }
}

/**
 * A reasoning item: its raw text, or its summary where there is no such text. Servers of open weights give both, often
 * the same words twice; they stream the raw text first, and that is what a stream can show (reasoning-reader.ts).
 * @param vendor who made it, in an answer; undefined in a caller's history, where the signature itself may say.
 * @returns undefined for an item that shows nothing and can restore nothing.
 */
export function decodeReasoning(item: JsonObject, vendor: string | undefined): ReasoningPart | undefined {
  const content = reasoningTexts(item, 'content')
  const raw = content.length > 0
  const texts = raw ? content : reasoningTexts(item, 'summary')
  const encrypted = asString(item['encrypted_content']) ?? ''
  if (texts.length === 0 && encrypted === '') return undefined
  return {
    type: 'reasoning',
    texts,
    raw,
    redacted: texts.length === 0,
    signature: encrypted === '' ? undefined : reasoningSignature(encrypted, vendor),
    id: asString(item['id']),
  }
}

/**
 * An `encrypted_content` with its maker: `vendor` made it, or, where a caller brings it (undefined), whoever it was
 * wrapped for.
 */
export function reasoningSignature(
  encrypted: string,
  vendor: string | undefined,
): ReasoningPart['signature'] {
  if (vendor === undefined) return unwrapSignature(encrypted, FORMAT)
  return { format: FORMAT, vendor, value: encrypted }
}

/** Where a reasoning item has its texts; the raw ones are its content. */
export type ReasoningTextField = 'summary' | 'content'

/** The paragraphs of a reasoning item. */
export function reasoningTexts(item: JsonObject, field: ReasoningTextField): string[] {
  return asArray(item[field]).flatMap(part => asString(asObject(part)?.['text']) ?? [])
}

/** A generated image as media; while it holds no image it is only itself. */
export function decodeImageCall(item: JsonObject): MediaPart | OpaquePart {
  const result = asString(item['result'])
  if (result === undefined || result === '') return opaqueItem(item, 'image_generation_call')
  const mediaType = imageTypeOf(asString(item['output_format']))
  return mediaPart({ kind: 'image', mediaType, source: { type: 'base64', data: result } })
}

/** An item that only this format knows. */
export function opaqueItem(item: JsonObject, type: string): OpaquePart {
  const { query, queries } = (type === 'web_search_call' && asObject(item['action'])) || {}
  const sought = asString(query) ?? asStrings(queries)[0]
  return {
    type: 'opaque',
    format: FORMAT,
    name: type,
    value: item,
    ...(sought !== undefined && { query: sought }),
  }
}

/** The item inside an opaque part of this format; undefined when it holds none. */
export function itemOf(value: JsonValue): JsonObject | undefined {
  return isJsonObject(value) && typeof value['type'] === 'string' ? value : undefined
}
