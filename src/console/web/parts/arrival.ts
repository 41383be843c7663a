/** The page that a document begins with has its focus from the browser, so that the first Tab finds the skip link. */
let isFirst = true

/** On a change of page takes the focus to its heading, for a screen reader to say, unless a field has it. */
export function arriveAt(heading: HTMLElement | null, isTaken = false): void {
  if (!isFirst && !isTaken) heading?.focus({ preventScroll: true })
  isFirst = false
}
