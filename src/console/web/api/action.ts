import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiFailure, asFailure, messageBeside } from './failure.ts'

export interface Action<Arguments extends unknown[]> {
  run(...args: Arguments): Promise<void>
  busy: boolean
  failure: ApiFailure | undefined
  /** What the server said about one field of the form. */
  errorOf(field: string): string | undefined
}

/** Something that a person sets off: once at a time, with what became of it. */
export function useAction<Arguments extends unknown[]>(
  action: (...args: Arguments) => Promise<unknown>,
): Action<Arguments> {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<ApiFailure>()
  const latest = useRef(action)
  latest.current = action
  const isRunning = useRef(false)
  const isMounted = useMounted()
  const run = useCallback(
    async (...args: Arguments) => {
      if (isRunning.current) return
      isRunning.current = true
      setBusy(true)
      setFailure(undefined)
      try {
        await latest.current(...args)
      } catch (error) {
        if (isMounted.current) setFailure(asFailure(error))
      } finally {
        isRunning.current = false
        if (isMounted.current) setBusy(false)
      }
    },
    [isMounted],
  )
  const errorOf = (field: string) => (isAbout(failure, field) ? messageBeside(field, failure) : undefined)
  return { run, busy, failure, errorOf }
}

/** A field or a part of it: `models` is what `models[2]` is about. */
export function isAbout(failure: ApiFailure | undefined, field: string): boolean {
  const named = failure?.field
  return named === field || named?.startsWith(`${field}[`) === true || named?.startsWith(`${field}.`) === true
}

function useMounted() {
  const isMounted = useRef(true)
  useEffect(() => {
    isMounted.current = true
    return () => {
      isMounted.current = false
    }
  }, [])
  return isMounted
}
