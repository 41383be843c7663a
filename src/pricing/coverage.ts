import type { Rates } from '@/generation/rates.ts'

/** What a request asks a model to make. */
export type Work = 'text' | 'embedding' | 'image' | 'video' | 'audio'

/**
 * Whether the rates say what this work costs. If not, the request is refused: what nobody priced is not free. A rate
 * of 0 that was written down is a price, and so is a rate per request alone, which makes the tokens free on purpose.
 */
export function isPriced({ tokens, perRequest, perImage, perVideoSecond }: Rates, work: Work): boolean {
  if (perRequest !== undefined) return true
  const output = tokens.output !== undefined || tokens.output_audio !== undefined
  const input = tokens.input !== undefined
  switch (work) {
    case 'text':
      return input && tokens.output !== undefined
    case 'embedding':
      return input
    case 'image':
      return perImage.size > 0 || tokens.output !== undefined
    case 'video':
      return perVideoSecond !== undefined
    case 'audio':
      return output || tokens.input_audio !== undefined
    default:
      return work satisfies never
  }
}
