import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { arriveAt } from '../../parts/arrival.ts'
import { Icon } from '../../parts/icon.tsx'
import { ThemeButton } from '../../parts/theme-button.tsx'

/** A page before the sign-in: one card in the middle. */
export function Gate({
  title,
  lead,
  foot,
  children,
}: {
  title: string
  lead?: ComponentChildren
  foot?: ComponentChildren
  children: ComponentChildren
}) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Tollgate`
    arriveAt(heading.current, document.activeElement !== document.body)
  }, [title])
  return (
    <main class="gate">
      <span class="brand">
        <Icon name="gate" size={28} /> Tollgate
      </span>
      <div class="card">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead === undefined ? null : <p class="soft">{lead}</p>}
        </div>
        {children}
      </div>
      <div class="gate-foot stack tight">
        {foot}
        <div>
          <ThemeButton />
        </div>
      </div>
    </main>
  )
}
