/** A part of a list, and where the next one begins. */
export interface Page<Item> {
  items: readonly Item[]
  /** Null on the last page. */
  next: string | null
  /** Where a search was given up that found no full page; `next` goes on from there. */
  searched_to?: string | null | undefined
}

/** Both pages as one. Rows that arrived while somebody was reading shift no page: an id is kept where it came first. */
export function appendPage<Item>(
  shown: Page<Item>,
  next: Page<Item>,
  idOf: (item: Item) => string | number,
): Page<Item> {
  const known = new Set(shown.items.map(idOf))
  return {
    items: [...shown.items, ...next.items.filter(item => !known.has(idOf(item)))],
    next: next.next,
    searched_to: next.searched_to,
  }
}

/**
 * The first pages as one, so many of them or until there are `most` items. Where a later one cannot be read they end
 * there, and somebody may ask for it.
 */
export async function readPages<Item>(
  ask: (cursor: string | undefined) => Promise<Page<Item>>,
  { count, most }: { count: number; most: number },
  idOf: (item: Item) => string | number,
): Promise<Page<Item>> {
  let pages = await ask(undefined)
  for (let read = 1; read < count && pages.next !== null && pages.items.length < most; read += 1) {
    const next = await ask(pages.next).catch(() => undefined)
    if (next === undefined) break
    pages = appendPage(pages, next, idOf)
  }
  return pages
}

/** Newer items in front. Of more than `most` the oldest are let go, and with them where the list went on. */
export function prependItems<Item>(
  newer: readonly Item[],
  shown: Page<Item>,
  most: number,
  idOf: (item: Item) => string | number,
): Page<Item> {
  const all = appendPage({ items: newer, next: null }, shown, idOf)
  return all.items.length <= most ? all : { items: all.items.slice(0, most), next: null }
}
