import type { ComponentChildren } from 'preact'
import { CopyButton } from '../../parts/copy.tsx'
import { Dialog, DialogEnd } from '../../parts/dialog.tsx'
import { Notice } from '../../parts/notice.tsx'

/** A one-time link, shown to whoever made it. */
export function LinkMade({
  title,
  url,
  mailed,
  note,
  onClose,
}: {
  title: string
  url: string | null
  mailed: boolean
  note?: ComponentChildren
  onClose(): void
}) {
  return (
    <Dialog title={title} held={url === null ? undefined : 'shown-once'} onClose={onClose}>
      {note}
      {mailed ? <Notice kind="good">It was also sent by mail.</Notice> : null}
      {url === null ? null : (
        <>
          <p>Give this link to them and nobody else. It works once, and only for a while.</p>
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
