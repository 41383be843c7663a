import { useEffect, useState } from 'preact/hooks'
import type { RequestLine } from '../../api/contract/requests.ts'

/** How soon a stream that was refused is asked for again; the browser itself does so only for one that broke off. */
const AGAIN_MS = 5000

/**
 * Listens while there is an address; true while the stream is open. `onGap` is told when it is open again: what ended
 * in between was not told.
 */
export function useLiveTail(
  address: string | undefined,
  onLine: (line: RequestLine) => void,
  onGap: () => void,
): boolean {
  const [isConnected, setConnected] = useState(false)
  useEffect(() => {
    if (address === undefined) return
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let wasOpen = false
    const open = () => {
      const opened = new EventSource(address)
      source = opened
      opened.onopen = () => {
        setConnected(true)
        if (wasOpen) onGap()
        wasOpen = true
      }
      opened.onerror = () => {
        setConnected(false)
        if (opened.readyState === EventSource.CLOSED) timer = setTimeout(open, AGAIN_MS)
      }
      opened.addEventListener('request', event => onLine(readLine(event.data)))
    }
    open()
    return () => {
      clearTimeout(timer)
      source?.close()
      setConnected(false)
    }
  }, [address, onLine, onGap])
  return isConnected
}

/** The server writes these events from the same contract. */
function readLine(data: string): RequestLine {
  return JSON.parse(data) as RequestLine
}
