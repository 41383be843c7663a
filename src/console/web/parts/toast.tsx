import { type ComponentChildren, createContext } from 'preact'
import { useCallback, useContext, useEffect, useState } from 'preact/hooks'

const SHOWN_MS = 5000

const Toasts = createContext<(text: string) => void>(() => {})

/** Says in the corner, and to screen readers, that something was done. */
export function useToast(): (text: string) => void {
  return useContext(Toasts)
}

export function ToastProvider({ children }: { children: ComponentChildren }) {
  const [message, setMessage] = useState<{ text: string; id: number }>()
  const say = useCallback((text: string) => setMessage(last => ({ text, id: (last?.id ?? 0) + 1 })), [])
  useEffect(() => {
    if (message === undefined) return
    const timer = setTimeout(() => setMessage(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [message])
  return (
    <Toasts.Provider value={say}>
      {children}
      <div class="toasts" role="status" aria-live="polite">
        {message === undefined ? null : (
          <div key={message.id} class="toast">
            {message.text}
          </div>
        )}
      </div>
    </Toasts.Provider>
  )
}
