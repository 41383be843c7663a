/** How the base64 of what comes without a media type begins. */
const MAGIC: readonly (readonly [string, string])[] = [
  ['/9j/', 'image/jpeg'],
  ['iVBORw0KGgo', 'image/png'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi', 'application/pdf'],
  ['SUQz', 'audio/mp3'],
]

/** The media type that the first bytes of data show; undefined where they show none that is known. */
export function mediaTypeOfData(base64: string): string | undefined {
  return MAGIC.find(([start]) => base64.startsWith(start))?.[1]
}
