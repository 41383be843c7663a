import { invalidRequest, requiredString } from '@/formats/invalid.ts'
import { unwrapSignature } from '@/formats/signatures/signature.ts'
import { callOfBlock, resultOfBlock } from '@/formats/tools/tool-blocks.ts'
import {
  type CacheMark,
  type MediaPart,
  type MediaSource,
  mediaPart,
  type OpaquePart,
  type Part,
  type ReasoningPart,
  reasoningPart,
  type Signature,
  type TextPart,
  textPart,
} from '@/generation/part.ts'
import {
  asArray,
  asNonEmpty,
  asObject,
  asObjects,
  asString,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@/json/json.ts'
import { decodeCitations } from './citation.ts'
import { FORMAT } from './wire.ts'

/** A content block of a request. Documents made of blocks become several parts; unknown kinds stay what they are. */
export function decodeBlock(block: JsonObject, path: string): Part[] {
  switch (block['type']) {
    case 'text':
      return [decodeText(block, path)]
    case 'image':
      return [decodeImage(block, path)]
    case 'document':
      return decodeDocument(block, path)
    case 'search_result':
      return [decodeSearchResult(block)]
    case 'thinking':
      return [decodeThinking(block)]
    case 'redacted_thinking':
      return [reasoningPart({ redacted: true, signature: signatureIn(block['data']) })]
    case 'tool_use':
      return [callOfBlock(block, path, cacheMark(block))]
    case 'tool_result':
      return [
        resultOfBlock(block, path, {
          content: resultContent(block['content'], `${path}.content`),
          cache: cacheMark(block),
        }),
      ]
    default:
      return [decodeOpaque(block)]
  }
}

/** `cache_control: {type: "ephemeral", ttl?}`. */
export function cacheMark(block: JsonObject): CacheMark | undefined {
  const control = asObject(block['cache_control'])
  if (control === undefined) return undefined
  const ttl = control['ttl']
  return { ttl: ttl === '5m' || ttl === '1h' ? ttl : undefined }
}

/** A block that only this format knows. */
export function decodeOpaque(block: JsonObject): OpaquePart {
  return { type: 'opaque', format: FORMAT, name: asString(block['type']) ?? 'unknown', value: block }
}

function decodeText(block: JsonObject, path: string): TextPart {
  return {
    ...textPart(requiredString(block, 'text', path)),
    cache: cacheMark(block),
    citations: decodeCitations(block['citations']),
  }
}

function decodeImage(block: JsonObject, path: string): MediaPart {
  const source = requiredSource(block, path)
  return media('image', asString(source['media_type']), decodeSource(source, `${path}.source`), block)
}

function decodeDocument(block: JsonObject, path: string): Part[] {
  const source = requiredSource(block, path)
  if (source['type'] !== 'content') {
    return [media('document', asString(source['media_type']), decodeSource(source, `${path}.source`), block)]
  }
  // A document of blocks: its text as one document, its images after it.
  const content = source['content']
  const blocks = asObjects(content)
  const text = asString(content) ?? blocks.flatMap(inner => asString(inner['text']) ?? []).join('\n\n')
  const images = blocks.filter(inner => inner['type'] === 'image')
  return [
    media('document', 'text/plain', { type: 'text', text }, block),
    ...images.map((image, index) => decodeImage(image, `${path}.source.content[${index}]`)),
  ]
}

function media(
  kind: MediaPart['kind'],
  mediaType: string | undefined,
  source: MediaSource,
  block: JsonObject,
): MediaPart {
  return mediaPart({
    kind,
    mediaType,
    source,
    title: asString(block['title']),
    context: asString(block['context']),
    citable: asObject(block['citations'])?.['enabled'] === true,
    cache: cacheMark(block),
  })
}

function decodeSource(source: JsonObject, path: string): MediaSource {
  switch (source['type']) {
    case 'base64':
      return { type: 'base64', data: requiredString(source, 'data', path) }
    case 'url':
      return { type: 'url', url: requiredString(source, 'url', path) }
    case 'text':
      return { type: 'text', text: requiredString(source, 'data', path) }
    case 'file':
      return { type: 'file-id', id: requiredString(source, 'file_id', path), format: FORMAT }
    default:
      throw invalidRequest(`${path}.type`, "expected 'base64', 'url', 'text', 'content' or 'file'")
  }
}

/** A search result is text with its source: other vendors read it as such. */
function decodeSearchResult(block: JsonObject): TextPart {
  const lines = [
    asString(block['title']),
    asString(block['source']),
    ...asArray(block['content']).map(inner => asString(asObject(inner)?.['text'])),
  ]
  return { ...textPart(lines.filter(line => line !== undefined).join('\n\n')), cache: cacheMark(block) }
}

function decodeThinking(block: JsonObject): ReasoningPart {
  const text = asString(block['thinking']) ?? ''
  return reasoningPart({ texts: text === '' ? [] : [text], signature: signatureIn(block['signature']) })
}

function signatureIn(field: JsonValue | undefined): Signature | undefined {
  const sealed = asNonEmpty(field)
  return sealed === undefined ? undefined : unwrapSignature(sealed, FORMAT)
}

function resultContent(content: JsonValue | undefined, path: string): (TextPart | MediaPart)[] {
  if (content === undefined || content === null || content === '') return []
  if (typeof content === 'string') return [textPart(content)]
  if (!Array.isArray(content)) throw invalidRequest(path, 'expected a string or an array of content blocks')
  return content.flatMap((inner, index) => {
    if (!isJsonObject(inner)) throw invalidRequest(`${path}[${index}]`, 'expected a content block')
    return decodeBlock(inner, `${path}[${index}]`).map(resultPart)
  })
}

/** What else may stand in a result (`tool_reference`, `browser_state`) is shown to other models as its JSON. */
function resultPart(part: Part): TextPart | MediaPart {
  if (part.type === 'text' || part.type === 'media') return part
  return textPart(part.type === 'opaque' ? JSON.stringify(part.value) : '')
}

function requiredSource({ source }: JsonObject, path: string): JsonObject {
  if (!isJsonObject(source)) throw invalidRequest(`${path}.source`, 'expected an object')
  return source
}
