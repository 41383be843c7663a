import { useEffect, useState } from 'preact/hooks'
import type { RequestLine } from '../../api/contract/requests.ts'

/** How soon a stream that was refused is asked for again; the browser itself does so only for one that broke off. */
const AGAIN_MS = 5000
/** Of a flood a page is drawn as often as this, and not anew for each line. */
const TOGETHER_MS = 250

/**
 * Listens while there is an address; true while the stream is open. `onLines` is told the newest first. `onGap` is told
 * when something was not: when the stream was refused or is open again, and when more came at once than the server keeps
 * for a page.
 */
export function useLiveTail(
  address: string | undefined,
  onLines: (lines: RequestLine[]) => void,
  onGap: () => void,
): boolean {
  const [isConnected, setConnected] = useState(false)
  useEffect(() => {
    if (address === undefined) return
    let source: EventSource | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let wasOpen = false
    let waiting: RequestLine[] = []
    let isCut = false
    let telling: ReturnType<typeof setTimeout> | undefined
    const tell = () => {
      if (isCut) onGap()
      else onLines(waiting.reverse())
      waiting = []
      isCut = false
      telling = undefined
    }
    const tellSoon = () => {
      telling ??= setTimeout(tell, TOGETHER_MS)
    }
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
        if (opened.readyState !== EventSource.CLOSED) return
        // Why it was refused, as that the session has ended, is not told here; the list is told.
        onGap()
        timer = setTimeout(open, AGAIN_MS)
      }
      opened.addEventListener('lost', () => {
        isCut = true
        tellSoon()
      })
      opened.addEventListener('request', event => {
        waiting.push(readLine(event.data))
        tellSoon()
      })
    }
    open()
    return () => {
      clearTimeout(timer)
      clearTimeout(telling)
      source?.close()
      setConnected(false)
    }
  }, [address, onLines, onGap])
  return isConnected
}

/** The server writes these events from the same contract. */
function readLine(data: string): RequestLine {
  return JSON.parse(data) as RequestLine
}
