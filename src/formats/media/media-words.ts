import { type MediaPart, mediaPart, type Part } from '@/generation/part.ts'
import { dataUri } from './data-uri.ts'

/**
 * Media of an answer as text, for a reply that has no place for it: its address in markdown, which may hold all of it,
 * and what a voice in it says.
 */
export function mediaWords(part: MediaPart): string {
  const address = mediaAddress(part)
  return part.kind === 'audio' && part.context !== undefined ? `${part.context}\n\n${address}` : address
}

function mediaAddress(part: MediaPart): string {
  const { source } = part
  switch (source.type) {
    case 'base64':
      return link(part, dataUri(part.mediaType ?? UNKNOWN_TYPE, source.data))
    case 'url':
      return link(part, source.url)
    case 'file-id':
      return `[${part.kind}: ${source.id}]`
    case 'text':
      return source.text
    default:
      return source satisfies never
  }
}

const UNKNOWN_TYPE = 'application/octet-stream'

function link(part: MediaPart, address: string): string {
  return part.kind === 'image' ? `![image](${address})` : `[${part.kind}](${address})`
}

/** The words of a document that is text; undefined for any other. */
export function documentText({ source, mediaType }: MediaPart): string | undefined {
  if (source.type === 'text') return source.text
  if (source.type !== 'base64' || !mediaType?.startsWith('text/')) return undefined
  return Buffer.from(source.data, 'base64').toString('utf8')
}

/** The words of an image that is in them. */
const IMAGE = /^!\[image\]\(data:(image\/[\w.+-]+);base64,([\w+/=]+)\)$/

/** A text that a caller sends back is the image whose words it is: as text it would be thousands of tokens of base64. */
export function withoutMediaWords(part: Part): Part {
  const [, mediaType, data = ''] = (part.type === 'text' && IMAGE.exec(part.text)) || []
  if (mediaType === undefined) return part
  const cache = part.type === 'text' ? part.cache : undefined
  return mediaPart({ kind: 'image', mediaType, source: { type: 'base64', data }, cache })
}
