import type { ComponentChildren } from 'preact'
import { call } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { Dialog, DialogEnd } from '../../parts/dialog.tsx'
import { Notice } from '../../parts/notice.tsx'
import { When } from '../../parts/when.tsx'

/** A one-time link; null: none was asked for. */
export interface OneTimeLink {
  url: string | null
  mailed: boolean
}

interface LinkMadeProps {
  title: string
  link: OneTimeLink
  note?: ComponentChildren
  onClose(): void
}

/** A one-time link, shown to whoever made it. */
export function LinkMade({ title, link: { url, mailed }, note, onClose }: LinkMadeProps) {
  return (
    <Dialog title={title} held={url === null ? undefined : 'shown-once'} onClose={onClose}>
      {note}
      {mailed ? <Notice kind="good">It was also sent by mail.</Notice> : null}
      {url === null ? null : <HandOver url={url} />}
      <DialogEnd onClose={onClose}>Done</DialogEnd>
    </Dialog>
  )
}

function HandOver({ url }: { url: string }) {
  const token = new URL(url).hash.slice(1)
  const { data } = useQuery(token, signal => call('POST /api/links/inspect', { body: { token } }, signal))
  return (
    <>
      <p>
        Give this link to them and nobody else. It works once
        {data === undefined ? null : (
          <>
            , until <When iso={data.expires_at} />
          </>
        )}
        .
      </p>
      <div class="secret">
        <code data-testid="link">{url}</code>
        <CopyButton text={url} what="the link" />
      </div>
    </>
  )
}
