import { unsayable } from '@/formats/invalid.ts'
import type { Losses } from '@/formats/losses.ts'
import { standardBase64 } from '@/formats/media/base64.ts'
import { parseDataUri } from '@/formats/media/data-uri.ts'
import { mediaTypeOf, mediaTypeOfFile, mediaTypeOfName } from '@/formats/media/media-type.ts'
import { type MediaPart, type MediaSource, mediaPart } from '@/generation/part.ts'
import { asNonEmpty, asObject, asString, isJsonObject, type JsonObject, present } from '@/json/json.ts'
import type { ModelTraits } from './models.ts'
import { FORMAT, type WirePart } from './wire.ts'

/** A part that is `inlineData` or `fileData` as media; undefined for other parts. */
export function decodeMedia(part: JsonObject): MediaPart | undefined {
  const { inlineData: blob, fileData: file } = part
  if (isJsonObject(blob)) {
    const data = standardBase64(asString(blob['data']) ?? '')
    const type = mediaTypeOfFile(declaredType(blob), data, asString(blob['displayName']))
    return media(blob, { type: 'base64', data }, type, kindOfType(type))
  }
  if (!isJsonObject(file)) return undefined
  const uri = asString(file['fileUri']) ?? ''
  const type = declaredType(file)
  const kind = VIDEO_SITE.test(uri) ? 'video' : kindOfType(type ?? mediaTypeOfName(uri))
  return media(file, urlSource(uri), type, kind)
}

function declaredType({ mimeType }: JsonObject): string | undefined {
  return asNonEmpty(mimeType)?.toLowerCase()
}

/** The media of an answer's part, in which a voice may stand with its words. */
export function decodeAnswerMedia(part: JsonObject): MediaPart | undefined {
  const media = decodeMedia(part)
  const context = transcript(part)
  return media === undefined || context === undefined ? media : { ...media, context }
}

/** What a voice says that is not in the same part. */
export function wordsAlone(part: JsonObject): string | undefined {
  const words = transcript(part)
  return words === undefined || decodeMedia(part) !== undefined ? undefined : words
}

function transcript({ audioTranscription }: JsonObject): string | undefined {
  return audioTranscription === undefined ? undefined : asString(asObject(audioTranscription)?.['text'])
}

function media(
  data: JsonObject,
  source: MediaSource,
  mediaType: string | undefined,
  kind: MediaPart['kind'],
): MediaPart {
  const filename = kind === 'document' ? asString(data['displayName']) : undefined
  return mediaPart({ kind, mediaType, source, filename })
}

function kindOfType(mediaType: string | undefined): MediaPart['kind'] {
  const [family] = (mediaType ?? '').split('/')
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'document'
}

const VIDEO_SITE = /^https:\/\/(?:www\.)?(?:youtube\.com|youtu\.be)\//
/** Addresses that only Google can resolve: its Files API and its buckets. */
const GOOGLE_FILE = /^(?:gs:\/\/|https:\/\/generativelanguage\.googleapis\.com\/|files\/)/

function urlSource(uri: string): MediaSource {
  return GOOGLE_FILE.test(uri) ? { type: 'file-id', id: uri, format: FORMAT } : { type: 'url', url: uri }
}

/** What the model that gets it can do, and where losses are told. */
interface MediaDestination {
  traits: Pick<ModelTraits, 'fetchesUrls'>
  losses: Losses
}

/**
 * A media part as Gemini takes it.
 * @throws GatewayError `unsupported_parameter` for what the model cannot be given: an input that silently vanished
 * would be answered as if it had been seen.
 */
export function encodeMedia(part: MediaPart, to: MediaDestination): WirePart {
  reportLosses(part, to.losses)
  const { source } = part
  switch (source.type) {
    case 'base64': {
      const mimeType = mediaTypeOf(part.mediaType, source.data) ?? DEFAULT_TYPE[part.kind]
      return { inlineData: { mimeType, data: source.data } }
    }
    case 'text':
      return { text: [part.title, part.context, source.text].filter(Boolean).join('\n\n') }
    case 'file-id':
      if (source.format !== FORMAT)
        throw unsayable('mediaAddress', 'holds a file id that only another vendor can resolve')
      return fileData(source.id, part.mediaType)
    case 'url':
      return encodeUrl(source.url, part.mediaType, to)
    default:
      return source satisfies never
  }
}

function reportLosses(part: MediaPart, losses: Losses): void {
  if (part.cache !== undefined) losses.add('cacheMark')
  if (part.filename !== undefined) losses.add('filename')
  if (part.detail !== undefined && part.detail !== 'auto') losses.add('imageDetail')
  if (part.citable) losses.add('citations')
  if (part.source.type === 'text') return
  if (part.title !== undefined) losses.add('documentTitle')
  if (part.context !== undefined) losses.add('documentContext')
}

function encodeUrl(url: string, mediaType: string | undefined, to: MediaDestination): WirePart {
  const inline = parseDataUri(url)
  if (inline !== undefined) return { inlineData: { mimeType: inline.mediaType, data: inline.base64 } }
  if (canFetch(url, to.traits)) return fileData(url, mediaType)
  throw unsayable('mediaAddress', 'has an address that this model cannot fetch; send the data itself')
}

/** Whether Google reads this address itself; what a data URI holds needs no fetching. */
export function canFetch(url: string, { fetchesUrls }: MediaDestination['traits']): boolean {
  if (GOOGLE_FILE.test(url) || VIDEO_SITE.test(url) || /^data:/i.test(url)) return true
  return fetchesUrls && url.startsWith('https://')
}

function fileData(uri: string, mediaType: string | undefined): WirePart {
  return { fileData: present({ mimeType: mediaType ?? mediaTypeOfName(uri), fileUri: uri }) }
}

const DEFAULT_TYPE: Record<MediaPart['kind'], string> = {
  image: 'image/png',
  document: 'application/pdf',
  audio: 'audio/wav',
  video: 'video/mp4',
}
