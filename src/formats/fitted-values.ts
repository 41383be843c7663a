import type { Losses } from './losses.ts'

/**
 * A stated limit of the answer, in tokens, as an upstream can be told: no less than its format takes and no more than its
 * model can write. One that it cannot be told as asked is a loss: Anthropic's 0, which warms its cache, is refused by all
 * others (OpenAI: "Expected a value >= 1").
 */
export function fitLimit(asked: number, least: number, most: number | undefined, losses: Losses): number {
  const fitted = Math.max(least, Math.min(asked, most ?? asked))
  if (fitted !== asked) losses.add('maxOutputTokens')
  return fitted
}

/** A key that a vendor would refuse for its length keeps its one use as a hash: being the same for the same caller. */
export function fitKey(key: string | undefined, maxLength: number): string | undefined {
  if (key === undefined || key.length <= maxLength) return key
  return new Bun.CryptoHasher('sha256').update(key).digest('hex')
}
