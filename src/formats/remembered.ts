/** More than any deployment has names of vendors or models. */
const MOST_NAMES = 1_000

/**
 * A function of a name that keeps what it found: every request asks about the same few vendors and models, and finding
 * the traits of one takes a dozen regular expressions.
 */
export function remembered<Found>(find: (name: string) => Found): (name: string) => Found {
  const known = new Map<string, Found>()
  return name => {
    const before = known.get(name)
    if (before !== undefined) return before
    if (known.size >= MOST_NAMES) known.clear()
    const found = find(name)
    known.set(name, found)
    return found
  }
}
