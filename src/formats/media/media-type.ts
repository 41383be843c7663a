import { isKeyOf } from '@/json/json.ts'

/** How the base64 of what comes without a media type begins. */
const MAGIC: readonly (readonly [RegExp, string])[] = [
  [/^\/9j\//, 'image/jpeg'],
  [/^iVBORw0KGgo/, 'image/png'],
  [/^R0lGOD/, 'image/gif'],
  // RIFF, a length, and the end of WEBP or WAVE.
  [/^UklGR.{7}RUJQ/, 'image/webp'],
  [/^UklGR.{7}QVZF/, 'audio/wav'],
  [/^JVBERi/, 'application/pdf'],
  [/^SUQz/, 'audio/mp3'],
  [/^T2dnUw/, 'audio/ogg'],
  [/^ZkxhQ/, 'audio/flac'],
]

/** The media type that the first bytes of data show; undefined where they show none that is known. */
export function mediaTypeOfData(base64: string): string | undefined {
  return MAGIC.find(([start]) => start.test(base64))?.[1]
}

/** A media type without parameters, as it is registered; where it says nothing, what the first bytes of its data show. */
export function mediaTypeOf(declared: string | undefined, base64: string): string | undefined {
  const type = declared?.split(';')[0]?.trim().toLowerCase()
  if (type === 'image/jpg') return 'image/jpeg'
  if (type !== undefined && type !== '' && type !== 'application/octet-stream') return type
  return mediaTypeOfData(base64) ?? type
}

/** By the end of a name or an address. */
const EXTENSIONS = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  gif: 'image/gif',
  webp: 'image/webp',
  heic: 'image/heic',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  xml: 'application/xml',
  rtf: 'application/rtf',
  doc: 'application/msword',
  xls: 'application/vnd.ms-excel',
  ppt: 'application/vnd.ms-powerpoint',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  mp3: 'audio/mp3',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  flac: 'audio/flac',
  aac: 'audio/aac',
  mp4: 'video/mp4',
  mov: 'video/mov',
  webm: 'video/webm',
} as const

/** The media type that a file's name or address shows; undefined where it shows none that is known. */
export function mediaTypeOfName(name: string): string | undefined {
  const extension = /\.([a-z0-9]+)(?:[?#]|$)/i.exec(name)?.[1]?.toLowerCase()
  return isKeyOf(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined
}

/** The media type of a file whose caller says none, or one that says nothing; a PDF where nothing else tells. */
export function mediaTypeOfFile(
  declared: string | undefined,
  base64: string,
  filename: string | undefined,
): string {
  if (declared !== undefined && declared !== 'application/octet-stream') return declared
  return mediaTypeOfName(filename ?? '') ?? mediaTypeOfData(base64) ?? declared ?? 'application/pdf'
}
