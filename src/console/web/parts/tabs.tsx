import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'

interface Tab {
  id: string
  name: string
  content: ComponentChildren
}

/** One of several panels; the arrow keys go from tab to tab. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const [shown, setShown] = useState(tabs[0]?.id)
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const index = tabs.findIndex(tab => tab.id === shown)
  const go = (to: number) => {
    const next = tabs[(to + tabs.length) % tabs.length]
    if (next === undefined) return
    setShown(next.id)
    list.current?.querySelector<HTMLElement>(`[id="${id}-${next.id}"]`)?.focus()
  }
  const MOVES: Readonly<Record<string, () => void>> = {
    ArrowRight: () => go(index + 1),
    ArrowLeft: () => go(index - 1),
    Home: () => go(0),
    End: () => go(tabs.length - 1),
  }
  return (
    <>
      <div ref={list} class="tabs" role="tablist" aria-label={label}>
        {tabs.map(tab => (
          <button
            key={tab.id}
            id={`${id}-${tab.id}`}
            type="button"
            role="tab"
            aria-selected={tab.id === shown}
            aria-controls={`${id}-panel`}
            tabIndex={tab.id === shown ? 0 : -1}
            onClick={() => setShown(tab.id)}
            onKeyDown={event => {
              const move = MOVES[event.key]
              if (move === undefined) return
              event.preventDefault()
              move()
            }}
          >
            {tab.name}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${shown}`}>
        {tabs[index]?.content}
      </div>
    </>
  )
}
