import { unsayable, unsayableMedia } from '@/formats/invalid.ts'
import type { Losses } from '@/formats/losses.ts'
import { dataUri } from '@/formats/media/data-uri.ts'
import { documentText } from '@/formats/media/media-words.ts'
import { soundFormatOf } from '@/formats/openai/sound-format.ts'
import { FORMAT } from '@/formats/openai-responses/wire.ts'
import type { MediaPart } from '@/generation/part.ts'
import { type JsonObject, present } from '@/json/json.ts'

/**
 * A media part as input content.
 * @param readsFiles whether documents that are text may be files
 * @throws GatewayError `unsupported_parameter` for media that the format has no place for: without it the model
 * would answer another question.
 */
export function encodeMedia(part: MediaPart, readsFiles: boolean, losses: Losses): JsonObject {
  switch (part.kind) {
    case 'image':
      return { type: 'input_image', ...imageSource(part), detail: part.detail ?? 'auto' }
    case 'document':
      return encodeDocument(part, readsFiles, losses)
    case 'audio':
      return encodeAudio(part)
    case 'video':
      throw unsayableMedia(part, 'holds a video, which the upstream cannot be given')
    default:
      return part.kind satisfies never
  }
}

function imageSource(part: MediaPart): JsonObject {
  const { source } = part
  switch (source.type) {
    case 'base64':
      return { image_url: dataUri(part.mediaType ?? 'image/png', source.data) }
    case 'url':
      return { image_url: source.url }
    case 'file-id':
      return { file_id: ownFileId(source) }
    case 'text':
      throw unsayable('media', 'holds an image that is text')
    default:
      return source satisfies never
  }
}

/** Files are OpenAI's to read: llama.cpp and Ollama refuse a request with one, so that text is told as such. */
function encodeDocument(part: MediaPart, readsFiles: boolean, losses: Losses): JsonObject {
  const { source } = part
  const name = part.filename ?? part.title
  if (part.citable) losses.add('citations')
  const words = readsFiles && source.type !== 'text' ? undefined : documentText(part)
  if (words !== undefined) {
    const said = [name, part.context, words].filter(text => text !== undefined)
    return { type: 'input_text', text: said.join('\n\n') }
  }
  if (part.context !== undefined) losses.add('documentContext')
  return present({ type: 'input_file', ...fileOf(part, name) })
}

function fileOf({ source, mediaType = 'application/pdf' }: MediaPart, name: string | undefined): JsonObject {
  switch (source.type) {
    case 'base64':
      return {
        filename: name ?? `document.${extensionOf(mediaType)}`,
        file_data: dataUri(mediaType, source.data),
      }
    case 'url':
      return present({ file_url: source.url, filename: name })
    case 'file-id':
      return { file_id: ownFileId(source) }
    case 'text':
      throw unsayable('media', 'holds a file that is text')
    default:
      return source satisfies never
  }
}

/** The API tells files apart by their names. */
function extensionOf(mediaType: string): string {
  if (mediaType === 'text/plain') return 'txt'
  return mediaType.split('/')[1] ?? 'txt'
}

function encodeAudio(part: MediaPart): JsonObject {
  if (part.source.type !== 'base64') throw unsayableMedia(part, 'holds audio that is not inline')
  const format = soundFormatOf(part.mediaType)
  return { type: 'input_audio', input_audio: { data: part.source.data, format } }
}

/** Both of OpenAI's formats read the same file store. */
function ownFileId(source: Extract<MediaPart['source'], { type: 'file-id' }>): string {
  if (source.format === FORMAT || source.format === 'openai-chat-completions') return source.id
  throw unsayable('mediaAddress', 'holds a file id that only another vendor can resolve')
}
