/** Drops those that came first from a Map or Set of which no more than `most` are to be kept. */
export function dropOldest<Key>(
  entries: { readonly size: number; keys(): Iterable<Key>; delete(key: Key): boolean },
  most: number,
): void {
  if (entries.size <= most) return
  for (const oldest of entries.keys()) {
    entries.delete(oldest)
    if (entries.size <= most) return
  }
}
