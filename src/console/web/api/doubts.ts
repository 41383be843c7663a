import { useEffect, useState } from 'preact/hooks'
import type { ApiFailure } from './failure.ts'

let count = 0
const readers = new Set<(count: number) => void>()

/** Takes in how an act failed: where no answer came, or one of a server in front, nobody knows whether it was done. */
export function noteFailure({ status, code }: ApiFailure): void {
  if (status !== 0 && !code.startsWith('http_')) return
  count += 1
  for (const tell of readers) tell(count)
}

/** How often that was, for whoever shows what such an act may have changed. */
export function useDoubts(): number {
  const [doubts, tell] = useState(count)
  useEffect(() => {
    readers.add(tell)
    return () => {
      readers.delete(tell)
    }
  }, [])
  return doubts
}
