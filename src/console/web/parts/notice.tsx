import type { ComponentChildren } from 'preact'
import { isAbout } from '../api/action.ts'
import type { ApiFailure } from '../api/failure.ts'
import { Icon, type IconName } from './icon.tsx'

const ICONS = { info: 'info', good: 'check', warn: 'warning', bad: 'warning' } as const satisfies Record<
  string,
  IconName
>

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

/** What went wrong, read out as soon as it appears; nothing if nothing did, or if a field of the form says it already. */
export function FailureNotice({
  failure,
  fields = [],
}: {
  failure: ApiFailure | undefined
  fields?: readonly string[]
}) {
  const isSaidElsewhere = fields.some(field => isAbout(failure, field))
  return (
    <div role="alert" hidden={failure === undefined || isSaidElsewhere}>
      {failure === undefined || isSaidElsewhere ? null : <Notice kind="bad">{failure.message}</Notice>}
    </div>
  )
}

export function Waiting({ what }: { what: string }) {
  return (
    <div class="waiting" role="status">
      <span class="row">
        <span class="spinner" aria-hidden="true" /> Loading {what}
      </span>
    </div>
  )
}

/** There is nothing, why, and what to do next. */
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
      <h3>{title}</h3>
      <p>{children}</p>
      {action}
    </div>
  )
}

export type BadgeKind = 'good' | 'warn' | 'bad' | 'info' | 'plain' | ''

export function Badge({ kind = '', children }: { kind?: BadgeKind; children: ComponentChildren }) {
  return <span class={`badge ${kind}`}>{children}</span>
}
