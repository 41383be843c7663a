/** Calls that travel together: as many as Redis answers in a fraction of the command timeout. */
const CALLS_AT_ONCE = 500

/** Makes one call for each item, a group at a time. What fails is left to the circuit. */
export async function inGroups<Item>(
  items: readonly Item[],
  call: (item: Item) => Promise<unknown> | undefined,
): Promise<void> {
  for (let at = 0; at < items.length; at += CALLS_AT_ONCE) {
    await Promise.allSettled(items.slice(at, at + CALLS_AT_ONCE).map(call))
  }
}
