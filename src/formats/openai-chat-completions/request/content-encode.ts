import { unsayableMedia } from '@/formats/invalid.ts'
import { dataUri } from '@/formats/media/data-uri.ts'
import { documentText } from '@/formats/media/media-words.ts'
import { soundFormatOf } from '@/formats/openai/sound-format.ts'
import { FORMAT } from '@/formats/openai-chat-completions/wire.ts'
import type { MediaPart, Part, TextPart } from '@/generation/part.ts'
import { isJsonObject, type JsonObject, present } from '@/json/json.ts'
import type { TargetRules } from './target-rules.ts'

/** Text as a content: one string, or parts where cache marks have to stand between them. */
export function encodeTexts(
  texts: readonly TextPart[],
  gap: string,
  rules: TargetRules,
): string | JsonObject[] {
  const isMarked = texts.some(part => part.cache !== undefined)
  if (isMarked && rules.hasCacheMarks) return texts.map(part => encodeText(part, rules))
  if (isMarked) rules.losses.add('cacheMark')
  return texts.map(part => part.text).join(gap)
}

/** A user's content: a string where one text is all there is, which every vendor takes. */
export function encodeParts(parts: readonly Part[], rules: TargetRules): string | JsonObject[] {
  const encoded = parts.flatMap(part => encodePart(part, rules))
  const [only] = encoded
  if (encoded.length !== 1 || only?.['type'] !== 'text' || Object.keys(only).length > 2) return encoded
  return typeof only['text'] === 'string' ? only['text'] : encoded
}

function encodePart(part: Part, rules: TargetRules): JsonObject[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [encodeText(part, rules)]
    case 'refusal':
      return [{ type: 'text', text: part.text }]
    case 'media':
      return [encodeMedia(part, rules)]
    case 'opaque':
      if (part.format === FORMAT && isJsonObject(part.value)) return [part.value]
      rules.losses.add('extension', part.name)
      return []
    case 'reasoning':
    case 'tool-call':
    case 'tool-result':
      // Not in a user's turn, or taken out of it before.
      return []
    default:
      return part satisfies never
  }
}

/** One text of several. */
export function encodeText(part: TextPart, rules: TargetRules): JsonObject {
  return { type: 'text', text: part.text, ...rules.cacheFields(part.cache) }
}

function encodeMedia(part: MediaPart, rules: TargetRules): JsonObject {
  const mark = rules.cacheFields(part.cache)
  switch (part.kind) {
    case 'image':
      return { ...encodeImage(part), ...mark }
    case 'document':
      return { ...encodeDocument(part, rules), ...mark }
    case 'audio':
      return { ...encodeAudio(part, rules), ...mark }
    case 'video':
      if (rules.vendor.isOpenai)
        throw unsayableMedia(part, 'has video, which the model behind this name does not take')
      return { type: 'video_url', video_url: { url: locate(part, 'video/mp4') }, ...mark }
    default:
      return part.kind satisfies never
  }
}

function encodeImage(part: MediaPart): JsonObject {
  return { type: 'image_url', image_url: present({ url: locate(part, 'image/png'), detail: part.detail }) }
}

function locate(part: MediaPart, defaultType: string): string {
  switch (part.source.type) {
    case 'url':
      return part.source.url
    case 'base64':
      return dataUri(part.mediaType ?? defaultType, part.source.data)
    case 'text':
      return dataUri('text/plain', Buffer.from(part.source.text, 'utf8').toString('base64'))
    case 'file-id':
      throw unsayableMedia(part, `has ${part.kind} by file id, which this upstream cannot look up`)
    default:
      return part.source satisfies never
  }
}

/** Plain text is written as such, with its title before it; other documents as files. */
function encodeDocument(part: MediaPart, rules: TargetRules): JsonObject {
  if (part.citable) rules.losses.add('citations')
  const text = documentText(part)
  if (text !== undefined) {
    const lines = [part.title ?? part.filename, part.context, text].filter(line => line !== undefined)
    return { type: 'text', text: lines.join('\n') }
  }
  if (part.context !== undefined) rules.losses.add('documentContext')
  if (rules.vendor.isMistral) return encodeDocumentUrl(part)
  if (rules.vendor.isPerplexity) return encodeFileUrl(part)
  return { type: 'file', file: encodeFile(part, rules) }
}

/** https://docs.mistral.ai/capabilities/document_ai */
function encodeDocumentUrl(part: MediaPart): JsonObject {
  return present({
    type: 'document_url',
    document_url: locate(part, 'application/pdf'),
    document_name: part.filename ?? part.title,
  })
}

/** https://docs.perplexity.ai/docs/sonar/media */
function encodeFileUrl(part: MediaPart): JsonObject {
  const { source } = part
  return present({
    type: 'file_url',
    file_url: { url: source.type === 'base64' ? source.data : locate(part, 'application/pdf') },
    file_name: part.filename ?? part.title,
  })
}

function encodeFile(part: MediaPart, rules: TargetRules): JsonObject {
  const { source } = part
  const isOpenaiFile =
    source.type === 'file-id' && (source.format === FORMAT || source.format === 'openai-responses')
  if (isOpenaiFile) return { file_id: source.id }
  if (source.type === 'url' && !rules.vendor.isOpenrouter) {
    throw unsayableMedia(part, 'has a document by address, which this upstream does not fetch')
  }
  return {
    filename: part.filename ?? part.title ?? 'document.pdf',
    file_data: locate(part, 'application/pdf'),
  }
}

function encodeAudio(part: MediaPart, rules: TargetRules): JsonObject {
  const { source } = part
  // https://docs.mistral.ai/capabilities/audio: its data or its address alone
  if (rules.vendor.isMistral && source.type === 'url') return { type: 'input_audio', input_audio: source.url }
  if (source.type !== 'base64') throw unsayableMedia(part, 'has audio that is not given in base64')
  if (rules.vendor.isMistral) return { type: 'input_audio', input_audio: source.data }
  const format = soundFormatOf(part.mediaType)
  return { type: 'input_audio', input_audio: { data: source.data, format } }
}
