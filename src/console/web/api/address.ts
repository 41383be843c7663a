import { useCallback, useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'

/**
 * A few words of a page's state in its address, so that a reload, a link and the back button keep them. What equals
 * its default is left out.
 */
export function useAddressState<Names extends string>(
  defaults: Readonly<Record<Names, string>>,
): [Record<Names, string>, (changes: Partial<Record<Names, string>>) => void] {
  const { query, path, route } = useLocation()
  const names = namesOf(defaults)
  const state: Record<Names, string> = { ...defaults }
  for (const name of names) state[name] = query[name] ?? defaults[name]
  const change = useCallback(
    (changes: Partial<Record<Names, string>>) => {
      const search = new URLSearchParams(location.search)
      for (const name of names) {
        const value = changes[name]
        if (value === undefined) continue
        if (value === defaults[name]) search.delete(name)
        else search.set(name, value)
      }
      const text = search.toString()
      route(text === '' ? path : `${path}?${text}`, true)
    },
    [path, route, names, defaults],
  )
  return [state, change]
}

function namesOf<Names extends string>(defaults: Readonly<Record<Names, string>>): Names[] {
  return Object.keys(defaults) as Names[]
}

/** The value once it has not changed for a moment: what somebody typed, and not each letter of it. */
export function useSettled<Value>(value: Value, ms = 250): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}
