/** What OpenAI calls the format of a sound of this media type: `wav` where nothing is said. */
export function soundFormatOf(mediaType = 'audio/wav'): string {
  const [subtype = 'wav'] = mediaType.replace(/^audio\//, '').split(';')
  if (/wav/.test(subtype)) return 'wav'
  return /^(?:x-)?(?:mp3|mpeg)$/.test(subtype) ? 'mp3' : subtype
}
