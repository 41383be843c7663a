import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { noteFailure } from './doubts.ts'
import { type ApiFailure, asFailure, messageBeside } from './failure.ts'

/** Something that a person sets off, and what became of it. */
export interface Action<Arguments extends unknown[]> {
  run(...args: Arguments): Promise<void>
  busy: boolean
  failure: ApiFailure | undefined
  /** What the server said about one field of the form, for that field to show. */
  errorOf(field: string): string | undefined
  /** Whether a field that asked shows the failure: then nobody else has to. */
  isSaidByField(): boolean
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
        const failed = asFailure(error)
        noteFailure(failed)
        if (isMounted.current) setFailure(failed)
      } finally {
        isRunning.current = false
        if (isMounted.current) setBusy(false)
      }
    },
    [isMounted],
  )
  const saidOf = useRef<ApiFailure | undefined>(undefined)
  const errorOf = (field: string) => {
    if (failure === undefined || !isAbout(failure, field)) return undefined
    saidOf.current = failure
    return messageBeside(field, failure)
  }
  const isSaidByField = () => failure !== undefined && saidOf.current === failure
  return { run, busy, failure, errorOf, isSaidByField }
}

/** A field or a part of it: `models` is what `models[2]` is about. */
function isAbout(failure: ApiFailure, field: string): boolean {
  const named = failure.field
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
