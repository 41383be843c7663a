import { useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'

/** The page that a document begins with has its focus from the browser, so that the first Tab finds the skip link. */
let isFirst = true

/** On a change of page takes the focus to its heading, for a screen reader to say, unless a field has it. */
export function arriveAt(heading: HTMLElement | null, isTaken = false): void {
  if (!isFirst && !isTaken) heading?.focus({ preventScroll: true })
  isFirst = false
}

/** How far down pages were read when they were left, by their addresses. */
const left = new Map<string, number>()

/** A page begins at the top, and where it was left for whoever comes back with the browser's buttons. */
export function useReturn(): void {
  const { url, wasPush } = useLocation()
  const address = useRef(url)
  address.current = url
  useLayoutEffect(() => {
    const top = (!wasPush && left.get(url)) || 0
    const stop = scrollOnceThere(top)
    return () => {
      stop()
      left.set(address.current, window.scrollY)
    }
  }, [])
}

/** What ends the wait for what is to come: somebody reads by now. */
const READING = ['wheel', 'pointerdown', 'keydown'] as const

/** Goes so far down as soon as the page is long enough. */
function scrollOnceThere(top: number): () => void {
  const observer = new ResizeObserver(() => {
    window.scrollTo(0, top)
    if (window.scrollY >= top - 1) stop()
  })
  const stop = () => {
    observer.disconnect()
    for (const name of READING) window.removeEventListener(name, stop)
  }
  observer.observe(document.body)
  for (const name of READING) window.addEventListener(name, stop)
  return stop
}
