import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { useDoubts } from './doubts.ts'
import { type ApiFailure, asFailure } from './failure.ts'
import { appendPage, type Page, prependItems, readPages } from './page.ts'
import { usePagesRead } from './pages-read.ts'

/** What a page asked the server, as far as it was answered. */
export interface Query<Data> {
  /** The last answer; it stays while a newer one is on its way, and where the same question was then not answered. */
  data: Data | undefined
  failure: ApiFailure | undefined
  busy: boolean
  reload(): void
}

interface Answered<Data> {
  key: string | undefined
  data?: Data | undefined
  failure?: ApiFailure
}

/**
 * Asks when the page appears and whenever `key` changes; an answer to an older question is thrown away. Without a key
 * nothing is asked: what was typed is no question yet. The same is asked anew when `changes` does, which counts what was
 * done here that may change the answer, and where nobody knows whether something was done.
 */
export function useQuery<Data>(
  key: string | undefined,
  ask: (signal: AbortSignal) => Promise<Data>,
  changes = 0,
): Query<Data> {
  const [state, setState] = useState<Answered<Data>>({ key })
  const [round, setRound] = useState(0)
  const [busy, setBusy] = useState(true)
  const doubts = useDoubts()
  const latest = useRef(ask)
  latest.current = ask
  // `round` asks the same question again.
  useEffect(() => {
    const abort = new AbortController()
    setBusy(key !== undefined)
    if (key === undefined) return
    void latest
      .current(abort.signal)
      .then(data => () => ({ key, data }))
      .catch((error: unknown) => {
        const failure = asFailure(error)
        return (last: Answered<Data>) =>
          last.key === key ? { key, data: last.data, failure } : { key, failure }
      })
      .then(change => {
        if (abort.signal.aborted) return
        setState(change)
        setBusy(false)
      })
    return () => abort.abort()
  }, [key, round, changes, doubts])
  const reload = useCallback(() => setRound(last => last + 1), [])
  return { data: state.data, failure: state.failure, busy, reload }
}

/** The address of a page names something that is not there, or nothing at all. */
export function namesNothing({ data, failure }: Query<unknown>): boolean {
  return data === undefined && failure !== undefined && [400, 404].includes(failure.status)
}

/** The next page of a list. */
export interface More {
  load(): void
  busy: boolean
  /** Why it did not come. */
  failure: ApiFailure | undefined
  /** How far back the search for it has come; undefined: it only has to be fetched. */
  searchedTo: string | undefined
}

/** How much is drawn at a time of a list that came as a whole: thousands of cards keep a browser busy for many seconds. */
const DRAWN = 100

/** The first of these, and more of them when somebody wants it; another list, as `key` tells, begins anew. */
export function useFirstOf<Item>(
  items: readonly Item[],
  key: string,
): { shown: readonly Item[]; more: More | undefined } {
  const pages = usePagesRead(key)
  const [, draw] = useState(0)
  const load = () => {
    pages.count += 1
    draw(pages.count)
  }
  const count = pages.count * DRAWN
  const more = { load, busy: false, failure: undefined, searchedTo: undefined }
  return { shown: items.slice(0, count), more: items.length > count ? more : undefined }
}

/** Rows of a list that grows by itself; with more of them a page becomes slow to use. */
export const MOST_LIVE = 1000

/** A list that the server gives out page by page. */
export interface CursorList<Item> {
  idOf(item: Item): string | number
  /** All pages that were read so far. */
  data: readonly Item[] | undefined
  failure: ApiFailure | undefined
  busy: boolean
  /** Absent on the last page. */
  more: More | undefined
  reload(): void
  /** Puts newer items in front, as a live tail brings them; of more than `MOST_LIVE` the oldest are let go. */
  prepend(items: readonly Item[]): void
}

/**
 * Asks for the first page as `useQuery` does, and for each further one when somebody wants it. Those that were read are
 * asked for at once where the list is read anew, also by whoever comes back to it.
 */
export function useCursorList<Item>(
  key: string | undefined,
  idOf: (item: Item) => string | number,
  ask: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  changes = 0,
): CursorList<Item> {
  const pages = usePagesRead(key)
  const first = useQuery(
    key,
    signal => readPages(cursor => ask(cursor, signal), { count: pages.count, most: MOST_LIVE }, idOf),
    changes,
  )
  const [, draw] = useState<Page<Item>>()
  const [failure, setFailure] = useState<ApiFailure>()
  const [busy, setBusy] = useState(false)
  const shown = useRef<Page<Item> | undefined>(undefined)
  // In the turn in which it is busy no more: a dialog that waited for that is filled from what was read.
  const begun = useRef<Page<Item> | undefined>(undefined)
  if (begun.current !== first.data) {
    begun.current = first.data
    shown.current = first.data
  }
  const list = shown.current
  useEffect(() => setFailure(undefined), [first.data])
  const load = () => {
    const from = shown.current
    if (from === undefined || from.next === null) return
    setBusy(true)
    setFailure(undefined)
    ask(from.next, new AbortController().signal)
      .then(page => {
        // The question may have changed meanwhile; then nobody wants this answer.
        if (shown.current?.next !== from.next) return
        shown.current = appendPage(shown.current, page, idOf)
        pages.count += 1
        draw(shown.current)
      })
      .catch((error: unknown) => setFailure(asFailure(error)))
      .finally(() => setBusy(false))
  }
  const prepend = useCallback(
    (items: readonly Item[]) => {
      const from = shown.current
      if (from === undefined) return
      shown.current = prependItems(items, from, MOST_LIVE, idOf)
      draw(shown.current)
    },
    [idOf],
  )
  return {
    idOf,
    data: first.data === undefined ? undefined : list?.items,
    failure: first.failure,
    busy: first.busy,
    more:
      list === undefined || list.next === null
        ? undefined
        : { load, busy, failure, searchedTo: list.searched_to ?? undefined },
    reload: first.reload,
    prepend,
  }
}
