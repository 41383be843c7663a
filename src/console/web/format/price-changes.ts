import type { PriceChange, PriceSet, Prices } from '../../api/contract/words.ts'
import { wrong } from '../api/failure.ts'

/**
 * The day that a field holds; undefined if it is empty.
 * @throws ApiFailure if the day has begun: what it holds would be in force at once
 */
export function typedFutureDay(text: string, field: string, now: Date): string | undefined {
  if (text === '') return undefined
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(Date.parse(text))) wrong(field, 'A day.')
  if (text <= now.toISOString().slice(0, 10)) wrong(field, 'A day to come, by UTC; leave it empty for now.')
  return text
}

/** What holds now, without what is to come. */
function pricesNow({ changes: _, ...now }: Prices): PriceSet {
  return now
}

/** These prices, and others from a day on; a change of that day is replaced. */
export function withChange(prices: Prices, change: PriceChange): Prices {
  const others = withoutChange(prices, change.from).changes ?? []
  return {
    ...pricesNow(prices),
    changes: [...others, change].toSorted((one, other) => (one.from < other.from ? -1 : 1)),
  }
}

/** These prices without the change of a day. */
export function withoutChange(prices: Prices, from: string): Prices {
  const left = (prices.changes ?? []).filter(change => change.from !== from)
  return left.length === 0 ? pricesNow(prices) : { ...pricesNow(prices), changes: left }
}

/**
 * In words, when new prices are in force, from a day on or at once (an empty text): a planned change of a later day ends
 * them. Without any, what is planned goes as well.
 */
export function forceInWords(prices: Prices | null, after: PriceSet | null, day: string): string {
  const next = prices?.changes?.find(({ from }) => from > day)?.from
  if (after === null) {
    const refused = 'Requests that come from now on are refused: a model without prices cannot be called.'
    return next === undefined ? refused : `${refused} What is planned from ${next} on is dropped.`
  }
  const begin =
    day === ''
      ? 'The new prices are in force at once, for requests that come from now on.'
      : `The new prices are in force from 00:00 UTC of ${day}, for requests that come from then on.`
  return next === undefined ? begin : `${begin} They end with ${next}, from when others are planned.`
}
