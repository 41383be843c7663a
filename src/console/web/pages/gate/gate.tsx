import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
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
  useEffect(() => {
    document.title = `${title} · Tollgate`
  }, [title])
  return (
    <main class="gate">
      <span class="brand">
        <Icon name="gate" size={28} /> Tollgate
      </span>
      <div class="card">
        <div>
          <h1>{title}</h1>
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
