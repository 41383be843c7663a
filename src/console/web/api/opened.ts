import { useRef, useState } from 'preact/hooks'
import type { CursorList } from './query.ts'

/** What a dialog is open about, and what opens another one, or none. */
type Opened<What> = [opened: What | undefined, open: (what?: What) => void]

/**
 * A dialog over a page. Opened while what the page shows is read anew (`busy`) it waits for that: a change made from what
 * was before would be refused. Once it is there it stays, whatever is read meanwhile.
 */
export function useOpened<What>(busy: boolean): Opened<What> {
  const [wanted, open] = useState<What>()
  const shown = useRef<What>(undefined)
  shown.current = busy && wanted !== shown.current ? undefined : wanted
  return [shown.current, open]
}

/** A dialog about a row of a list: as it was last read, or as it was when it was opened if it is listed no more. */
export function useOpenedRow<Row>({ idOf, data, busy }: CursorList<Row>): Opened<Row> {
  const [opened, open] = useOpened<Row>(busy)
  if (opened === undefined) return [opened, open]
  return [data?.find(row => idOf(row) === idOf(opened)) ?? opened, open]
}
