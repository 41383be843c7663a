/** How many series have a colour of their own. */
export const SERIES_COLOURS = 8

/** Each series on top of those before it: the last one is the total. */
export function stacked(series: readonly (readonly number[])[]): number[][] {
  const sums: number[][] = []
  for (const values of series) {
    const below = sums.at(-1)
    sums.push(values.map((value, index) => value + (below?.[index] ?? 0)))
  }
  return sums
}
