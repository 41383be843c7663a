/** How often a time is taken before it counts as too long. */
const TRIES = 5

/**
 * The shortest of up to five measurements, in ms; the first one within the bound ends them. What else a machine does
 * lengthens one or the other of them, by seconds at times; what a regression lengthens is long every time.
 */
export async function leastMs(boundMs: number, measure: () => number | Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < TRIES && least >= boundMs; tries += 1) least = Math.min(least, await measure())
  return least
}

/** How long something takes, in ms. */
export async function msOf(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
