/** Numbers in [0, 1) that are the same in every run (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Fresh whole numbers from 0 up to `below`. */
export type Random = (below: number) => number

/** Such numbers, the same for the same seed. */
export function randomOf(seed: number): Random {
  const random = seededRandom(seed)
  return below => Math.floor(random() * below)
}

/** One of several. */
export function pick<T>(items: readonly T[], random: Random): T {
  const item = items[random(items.length)]
  if (item === undefined) throw new Error('nothing to pick from')
  return item
}
