import type { Rates } from '@/generation/rates.ts'
import type { Surface } from '@/generation/surface.ts'

/** What a request asks a model to make. */
export const WORKS = ['text', 'embedding', 'image', 'video', 'speech', 'transcription'] as const
/** What a model is asked to do, as far as prices tell it apart. */
export type Work = (typeof WORKS)[number]

/**
 * Whether the rates say what this work costs. If not, the request is refused: what nobody priced is not free. A rate
 * of 0 that was written down is a price, and so is a rate per request alone, which makes the tokens free on purpose.
 */
export function isPriced(
  { tokens, perRequest, perImage, perVideoSecond, perAudioSecond, perCharacter }: Rates,
  work: Work,
): boolean {
  if (perRequest !== undefined) return true
  const input = tokens.input !== undefined
  const output = tokens.output !== undefined
  switch (work) {
    case 'text':
      return input && output
    case 'embedding':
      return input
    case 'image':
      return perImage.size > 0 || output
    case 'video':
      return perVideoSecond !== undefined
    case 'speech':
      return (
        perCharacter !== undefined ||
        perAudioSecond !== undefined ||
        output ||
        tokens.output_audio !== undefined
      )
    case 'transcription':
      return perAudioSecond !== undefined || tokens.input_audio !== undefined || (input && output)
    default:
      return work satisfies never
  }
}

/**
 * What a model's prices tell it is for, where its operator does not say. A hint for people and clients that choose by it;
 * a request is judged by `isPriced` and by its channels.
 */
export function surfacesPriced(rates: Rates): Surface[] {
  const { tokens, perImage, perVideoSecond, perAudioSecond, perCharacter } = rates
  const found: Surface[] = []
  if (isPriced(rates, 'text')) found.push('chat', 'responses', 'messages', 'gemini')
  if (tokens.input !== undefined && tokens.output === undefined) found.push('embeddings')
  if (perImage.size > 0) found.push('images')
  if (perVideoSecond !== undefined) found.push('videos')
  if (perAudioSecond !== undefined || perCharacter !== undefined) found.push('audio')
  return found
}
