import { useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'

/** The page that a document begins with has its focus from the browser, so that the first Tab finds the skip link. */
let isFirst = true

/** On a change of page takes the focus to its heading, for a screen reader to say, unless a field has it. */
export function arriveAt(heading: HTMLElement | null, isTaken = false): void {
  if (!isFirst && !isTaken) heading?.focus({ preventScroll: true })
  isFirst = false
}

/** How somebody left a page. */
interface Left {
  /** How far down. */
  top: number
  /** By which link, and which of those that lead there. */
  href: string | null
  place: number
}

/** Pages that were left, by their addresses. */
const left = new Map<string, Left>()
const BEGINNING: Left = { top: 0, href: null, place: 0 }

/** A page begins at the top, and for whoever comes back with the browser's buttons where and on which link they left it. */
export function useReturn(): void {
  const { url, wasPush } = useLocation()
  const address = useRef(url)
  address.current = url
  useLayoutEffect(() => {
    const stop = returnOnceThere((!wasPush && left.get(url)) || BEGINNING)
    return () => {
      stop()
      const link = document.activeElement?.closest<HTMLAnchorElement>('main a') ?? null
      const href = link?.getAttribute('href') ?? null
      const place = link === null ? 0 : linksTo(href).indexOf(link)
      left.set(address.current, { top: window.scrollY, href, place })
    }
  }, [])
}

/** What ends the wait for what is to come: somebody reads by now. */
const READING = ['wheel', 'pointerdown', 'keydown'] as const

/** Goes there as soon as the page is long enough and has the link. */
function returnOnceThere({ top, href, place }: Left): () => void {
  const look = () => {
    window.scrollTo(0, top)
    const link = linksTo(href)[place]
    if (window.scrollY < top - 1 || (href !== null && link === undefined)) return
    if (document.activeElement?.closest('dialog') === null) link?.focus({ preventScroll: true })
    stop()
  }
  const observer = new MutationObserver(look)
  const stop = () => {
    observer.disconnect()
    for (const name of READING) window.removeEventListener(name, stop)
  }
  observer.observe(document.body, { childList: true, subtree: true })
  for (const name of READING) window.addEventListener(name, stop)
  look()
  return stop
}

function linksTo(href: string | null): HTMLAnchorElement[] {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('main a')]
  return links.filter(link => link.getAttribute('href') === href)
}
