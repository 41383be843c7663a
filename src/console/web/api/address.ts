import { useCallback, useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'

type Changes<Names extends string> = (changes: Partial<Record<Names, string>>) => void

/**
 * A few words of a page's state in its address, so that a reload, a link and the back button keep them. What equals
 * its default is left out. The first function changes them in place; the second one takes a step, from which the back
 * button leads back: for what opens over the page.
 */
export function useAddressState<Names extends string>(
  defaults: Readonly<Record<Names, string>>,
): [state: Record<Names, string>, change: Changes<Names>, open: Changes<Names>] {
  const { query, path, route } = useLocation()
  const names = namesOf(defaults)
  const state: Record<Names, string> = { ...defaults }
  for (const name of names) state[name] = query[name] ?? defaults[name]
  const go = useCallback(
    (changes: Partial<Record<Names, string>>, isInPlace: boolean) => {
      const search = new URLSearchParams(location.search)
      for (const name of names) {
        const value = changes[name]
        if (value === undefined) continue
        if (value === defaults[name]) search.delete(name)
        else search.set(name, value)
      }
      const text = search.toString()
      route(text === '' ? path : `${path}?${text}`, isInPlace)
    },
    [path, route, names, defaults],
  )
  const change = useCallback<Changes<Names>>(changes => go(changes, true), [go])
  const open = useCallback<Changes<Names>>(changes => go(changes, false), [go])
  return [state, change, open]
}

function namesOf<Names extends string>(defaults: Readonly<Record<Names, string>>): Names[] {
  return Object.keys(defaults) as Names[]
}

const SETTLED_MS = 250

/** The value once it has not changed for a moment: what somebody typed, and not each letter of it. It is what JSON can say. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value)
  // A state of an address is another object each time that a page is drawn, which settling it does.
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED_MS)
    return () => clearTimeout(timer)
  }, [JSON.stringify(value)])
  return settled
}
