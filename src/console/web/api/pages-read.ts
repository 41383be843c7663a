import { useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'

declare module 'preact-iso' {
  interface LocationHook {
    /** It was a link that led here, or a button, and none of the browser's. */
    wasPush: boolean
  }
}

/** How many pages of a list are shown. */
interface PagesRead {
  key: string | undefined
  count: number
}

/** Of lists that somebody has left, by where they are and what they were asked. */
const left = new Map<string, number>()

/** Counts them: of another question from 1, and of the one that somebody comes back to from where they were. */
export function usePagesRead(key: string | undefined): PagesRead {
  const { path, wasPush } = useLocation()
  const pages = useRef<PagesRead>(undefined)
  pages.current ??= { key, count: wasPush ? 1 : (left.get(`${path} ${key}`) ?? 1) }
  if (pages.current.key !== key) pages.current = { key, count: 1 }
  useLayoutEffect(
    () => () => {
      if (pages.current !== undefined) left.set(`${path} ${pages.current.key}`, pages.current.count)
    },
    [path],
  )
  return pages.current
}
