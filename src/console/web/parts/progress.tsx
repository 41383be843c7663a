import { useEffect, useState } from 'preact/hooks'
import { watchCalls } from '../api/calls.ts'

/** Sooner than that an answer seems to come at once, and a bar would only flicker. */
const PATIENCE_MS = 400

/** A line at the top of the window while answers are on their way, also where the last ones are still shown. */
export function Progress() {
  const [isWorking, setWorking] = useState(false)
  const [isSlow, setSlow] = useState(false)
  useEffect(() => watchCalls(setWorking), [])
  useEffect(() => {
    if (!isWorking) {
      setSlow(false)
      return
    }
    const timer = setTimeout(() => setSlow(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [isWorking])
  return isSlow ? <div class="progress" aria-hidden="true" /> : null
}
