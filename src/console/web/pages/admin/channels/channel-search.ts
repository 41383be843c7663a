import type { Channel } from '../../../../api/contract/admin-catalog.ts'

/** Those in whose name, format, address or models the text is. What is held back stands first, then what has a key that is. */
export function foundChannels(channels: readonly Channel[], search: string): Channel[] {
  const wanted = search.trim().toLowerCase()
  return channels
    .filter(({ name, format, base_url, models }) =>
      [name, format, base_url, ...models].some(text => text.toLowerCase().includes(wanted)),
    )
    .toSorted((one, other) => troubleOf(other) - troubleOf(one))
}

function troubleOf({ health, api_keys }: Channel): number {
  if (health.breaker.state !== 'closed') return 2
  const ofKeys = api_keys.flatMap(key => [key.breaker, ...key.paused_models.map(({ breaker }) => breaker)])
  return ofKeys.some(({ state }) => state !== 'closed') ? 1 : 0
}
