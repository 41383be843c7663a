import { type ComponentChildren, createContext } from 'preact'
import { useCallback, useContext, useEffect, useState } from 'preact/hooks'

const SHOWN_MS = 5000

interface Message {
  id: number
  text: string
}

const Say = createContext<(text: string) => void>(() => {})
const Said = createContext<Message | undefined>(undefined)

/** Says in the corner, and to screen readers, that something was done. */
export function useToast(): (text: string) => void {
  return useContext(Say)
}

/** Where it is said. The page has one, and so has each dialog: what is outside an open one is neither seen nor heard. */
export function ToastArea() {
  const message = useContext(Said)
  return (
    <div class="toasts" role="status" aria-live="polite">
      {message === undefined ? null : (
        <div key={message.id} class="toast">
          {message.text}
        </div>
      )}
    </div>
  )
}

/** Lets the pages within say something for a moment. */
export function ToastProvider({ children }: { children: ComponentChildren }) {
  const [message, setMessage] = useState<Message>()
  const say = useCallback((text: string) => setMessage(last => ({ text, id: (last?.id ?? 0) + 1 })), [])
  useEffect(() => {
    if (message === undefined) return
    const timer = setTimeout(() => setMessage(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [message])
  return (
    <Say.Provider value={say}>
      <Said.Provider value={message}>
        {children}
        <ToastArea />
      </Said.Provider>
    </Say.Provider>
  )
}
