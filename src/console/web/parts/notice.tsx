import type { ComponentChildren } from 'preact'
import type { ApiFailure } from '../api/failure.ts'
import { Icon, type IconName } from './icon.tsx'

const ICONS = { info: 'info', good: 'check', warn: 'warning', bad: 'warning' } as const satisfies Record<
  string,
  IconName
>

/** A message within the page. */
export function Notice({
  kind = 'info',
  children,
}: {
  kind?: keyof typeof ICONS
  children: ComponentChildren
}) {
  return (
    <div class={`notice ${kind}`}>
      <Icon name={ICONS[kind]} />
      <div>{children}</div>
    </div>
  )
}

/** What went wrong, read out as soon as it appears; nothing if nothing did. */
export function FailureNotice({ failure }: { failure: ApiFailure | undefined }) {
  return (
    <div role="alert" hidden={failure === undefined}>
      {failure === undefined ? null : <Notice kind="bad">{failure.message}</Notice>}
    </div>
  )
}

/** What stands in the place of something that is on its way. */
export function Waiting({ what }: { what: string }) {
  return (
    <div class="waiting" role="status">
      <span class="row">
        <span class="spinner" aria-hidden="true" /> Loading {what}
      </span>
    </div>
  )
}

/** There is nothing, why, and what to do next. No heading: it stands under those of any order. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string
  children: ComponentChildren
  action?: ComponentChildren
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      <p>{children}</p>
      {action}
    </div>
  )
}

/** What a state means for whoever reads it. */
export type BadgeKind = 'good' | 'warn' | 'bad' | 'info' | 'plain' | ''

/** A state in a word or two. */
export function Badge({ kind = '', children }: { kind?: BadgeKind; children: ComponentChildren }) {
  return <span class={`badge ${kind}`}>{children}</span>
}
