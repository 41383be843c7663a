import { useCallback, useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'

type Changes<Names extends string> = (changes: Partial<Record<Names, string>>) => void

/** A few words of a page's state in its address. */
interface AddressState<Names extends string> {
  state: Record<Names, string>
  /** Changes them in place. */
  change: Changes<Names>
  /** Takes a step, from which the back button leads back: for what opens over the page. */
  open: Changes<Names>
  /** Where that step leads, for a link. */
  addressWith(changes: Partial<Record<Names, string>>): string
}

/** So that a reload, a link and the back button keep them. What equals its default is left out. */
export function useAddressState<Names extends string>(
  defaults: Readonly<Record<Names, string>>,
): AddressState<Names> {
  const { query, path, route } = useLocation()
  const names = namesOf(defaults)
  const state: Record<Names, string> = { ...defaults }
  for (const name of names) state[name] = query[name] ?? defaults[name]
  const addressWith = useCallback(
    (changes: Partial<Record<Names, string>>) => {
      const search = new URLSearchParams(location.search)
      for (const name of names) {
        const value = changes[name]
        if (value === undefined) continue
        if (value === defaults[name]) search.delete(name)
        else search.set(name, value)
      }
      const text = search.toString()
      return text === '' ? path : `${path}?${text}`
    },
    [path, names, defaults],
  )
  const change = useCallback<Changes<Names>>(
    changes => route(addressWith(changes), true),
    [route, addressWith],
  )
  const open = useCallback<Changes<Names>>(
    changes => route(addressWith(changes), false),
    [route, addressWith],
  )
  return { state, change, open, addressWith }
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
