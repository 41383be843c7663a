import { useLayoutEffect, useRef } from 'preact/hooks'

interface Keeper {
  /** Where the page was when it began to keep it. */
  address: string
  mayLeave(): boolean
  /** Somebody went back in spite of it. */
  onTried(): void
}

const keepers = new Set<Keeper>()

/** Where the browser tells of its history. */
const { navigation }: { navigation?: Navigation } = window

/**
 * Lets those who keep the page decide on the back button and on closing it. To be called before the router is there,
 * which would draw another page before anybody could object: a window tells its listeners in the order they came.
 */
export function watchLeaving(): void {
  window.addEventListener('popstate', event => {
    const keeper = keeping()
    if (keeper === undefined) return
    event.stopImmediatePropagation()
    history.pushState(null, '', keeper.address)
    keeper.onTried()
  })
  // What was opened over a page and closed has left its address twice, which is one step to whoever goes back or on.
  navigation?.addEventListener('currententrychange', ({ from, navigationType }) => {
    const entry = navigation.currentEntry
    if (navigationType !== 'traverse' || entry?.url !== from.url || keeping() !== undefined) return
    history.go(entry.index < from.index ? -1 : 1)
  })
  window.addEventListener('beforeunload', event => {
    if (keeping() !== undefined) event.preventDefault()
  })
}

function keeping(): Keeper | undefined {
  return [...keepers].find(({ mayLeave }) => !mayLeave())
}

/**
 * While `mayLeave` says no, the back button leads nowhere, of which `onTried` is told, and a browser that would close
 * or reload the page asks first.
 */
export function useLeaving(mayLeave: () => boolean, onTried: () => void): void {
  const latest = useRef({ mayLeave, onTried })
  latest.current = { mayLeave, onTried }
  useLayoutEffect(() => {
    const keeper: Keeper = {
      address: location.href,
      mayLeave: () => latest.current.mayLeave(),
      onTried: () => latest.current.onTried(),
    }
    keepers.add(keeper)
    return () => {
      keepers.delete(keeper)
    }
  }, [])
}
