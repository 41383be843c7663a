const COLLATOR = new Intl.Collator('en', { numeric: true })

/** Names in the order that people look for them in: `gpt-9` before `gpt-10`. */
export function inReadingOrder(one: { id: string }, other: { id: string }): number {
  return COLLATOR.compare(one.id, other.id)
}
