import { modelTraits } from '@/formats/anthropic-messages/models.ts'
import { FORMAT } from '@/formats/anthropic-messages/wire.ts'
import type { Target } from '@/formats/codec.ts'
import { unsayable, unsayableMedia } from '@/formats/invalid.ts'
import type { Losses } from '@/formats/losses.ts'
import { mediaTypeOf, mediaTypeOfData } from '@/formats/media/media-type.ts'
import type { MediaPart } from '@/generation/part.ts'
import { type JsonObject, present } from '@/json/json.ts'
import { marked } from './cache-marks.ts'

const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

/**
 * An image or a document as its block.
 * @throws GatewayError `unsupported_parameter` for kinds and types that the API does not read.
 */
export function encodeMedia(part: MediaPart, target: Target, losses: Losses): JsonObject {
  if (part.detail !== undefined && part.detail !== 'auto') losses.add('imageDetail')
  switch (part.kind) {
    case 'image':
      return marked({ type: 'image', source: imageSource(part) }, part.cache)
    case 'document':
      return marked(encodeDocument(part, target, losses), part.cache)
    case 'audio':
    case 'video':
      throw unsayableMedia(part, `holds ${part.kind}, which this model does not take`)
    default:
      return part.kind satisfies never
  }
}

function imageSource(part: MediaPart): JsonObject {
  const { source } = part
  switch (source.type) {
    case 'base64': {
      const type = imageType(part.mediaType, source.data)
      if (type === undefined || !IMAGE_TYPES.has(type)) {
        throw unsayable(
          'media',
          `holds an image of ${type ?? 'unknown type'}: this model takes JPEG, PNG, GIF and WebP`,
        )
      }
      return { type: 'base64', media_type: type, data: source.data }
    }
    case 'url':
      return urlSource(source.url)
    case 'file-id':
      return fileSource(source)
    case 'text':
      throw unsayable('media', 'holds an image that is text')
    default:
      return source satisfies never
  }
}

/** By its first bytes: the API refuses an image that is called by another's type, as other vendors do not. */
function imageType(declared: string | undefined, base64: string): string | undefined {
  const shown = mediaTypeOfData(base64)
  return shown?.startsWith('image/') ? shown : mediaTypeOf(declared, base64)
}

/** One that is text is text where documents are not read. */
function encodeDocument(part: MediaPart, target: Target, losses: Losses): JsonObject {
  const source = documentSource(part)
  const title = part.title || part.filename || undefined
  const context = part.context || undefined
  if (source['type'] === 'text' && !modelTraits(target).documents) {
    if (part.citable) losses.add('citations')
    const said = [title, context, source['data']].filter(text => text !== undefined)
    return { type: 'text', text: said.join('\n\n') }
  }
  const citations = part.citable ? { enabled: true } : undefined
  return present({ type: 'document', source, title, context, citations })
}

function documentSource(part: MediaPart): JsonObject {
  const { source } = part
  switch (source.type) {
    case 'base64': {
      const type = mediaTypeOf(part.mediaType, source.data) ?? 'application/pdf'
      if (type === 'application/pdf') return { type: 'base64', media_type: type, data: source.data }
      if (!isText(type))
        throw unsayable('media', `holds a document of type ${type}, which this model does not take`)
      return textSource(Buffer.from(source.data, 'base64').toString('utf8'))
    }
    case 'url':
      return urlSource(source.url)
    case 'file-id':
      return fileSource(source)
    case 'text':
      return textSource(source.text)
    default:
      return source satisfies never
  }
}

function isText(mediaType: string): boolean {
  return mediaType.startsWith('text/') || /^application\/(?:json|xml|yaml|x-yaml|javascript)$/.test(mediaType)
}

function textSource(data: string): JsonObject {
  return { type: 'text', media_type: 'text/plain', data }
}

function urlSource(url: string): JsonObject {
  if (!/^https?:\/\//i.test(url))
    throw unsayable('mediaAddress', 'holds an address that is neither http nor https')
  return { type: 'url', url }
}

/** File ids mean something to the vendor that gave them only. */
function fileSource(source: { id: string; format: string }): JsonObject {
  if (source.format !== FORMAT)
    throw unsayable('mediaAddress', 'holds a file id that only another vendor can resolve')
  return { type: 'file', file_id: source.id }
}
