import type { ComponentChildren } from 'preact'
import { CopyButton } from '../../../parts/copy.tsx'
import { Dialog, DialogEnd } from '../../../parts/dialog.tsx'
import { Notice } from '../../../parts/notice.tsx'
import { When } from '../../../parts/when.tsx'

/** A one-time link; null: none was asked for. */
export interface OneTimeLink {
  url: string | null
  /** Null with `url`. */
  expires_at: string | null
  mailed: boolean
}

interface LinkMadeProps {
  title: string
  link: OneTimeLink
  note?: ComponentChildren
  onClose(): void
}

/** A one-time link, shown to whoever made it. */
export function LinkMade({
  title,
  link: { url, expires_at: expiresAt, mailed },
  note,
  onClose,
}: LinkMadeProps) {
  return (
    <Dialog title={title} held={url === null ? undefined : 'shown-once'} onClose={onClose}>
      {note}
      {mailed ? <Notice kind="good">It was also sent by mail.</Notice> : null}
      {url === null ? null : (
        <>
          <p>
            Give this link to them and nobody else. It works once, until <When iso={expiresAt} />.
          </p>
          <div class="secret">
            <code data-testid="link">{url}</code>
            <CopyButton text={url} what="the link" />
          </div>
        </>
      )}
      <DialogEnd onClose={onClose}>Done</DialogEnd>
    </Dialog>
  )
}
