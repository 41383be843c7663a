/** How often a figure is taken before it counts as too high. */
const TRIES = 5

/**
 * The least of up to five measurements; the first one within the bound ends them. What else a machine does lengthens
 * one time or another, by seconds now and then, and when memory is given back is chance; what a regression adds is
 * there in every one.
 */
export async function least(bound: number, measure: () => number | Promise<number>): Promise<number> {
  let found = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < TRIES && found >= bound; tries += 1) found = Math.min(found, await measure())
  return found
}

/** How long something takes, in ms. */
export async function msOf(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** How long this process itself works on something, in ms: of a machine that is busy with others it says nothing. */
export function userMsOf(work: () => unknown): number {
  const started = process.cpuUsage()
  work()
  return process.cpuUsage(started).user / 1000
}
