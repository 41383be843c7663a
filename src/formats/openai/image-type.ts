/** The media type of what OpenAI calls `output_format`: png where it says nothing. */
export function imageTypeOf(outputFormat: string | undefined): string {
  return outputFormat === 'svg' ? 'image/svg+xml' : `image/${outputFormat ?? 'png'}`
}

/** The inverse, for an image of any media type. */
export function outputFormatOf(mediaType: string | undefined): string {
  return mediaType?.split('/')[1]?.replace('svg+xml', 'svg') ?? 'png'
}
