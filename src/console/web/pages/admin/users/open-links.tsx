import { useState } from 'preact/hooks'
import type { OpenLink } from '../../../../api/contract/admin-links.ts'
import { call } from '../../../api/client.ts'
import { useCursorList } from '../../../api/query.ts'
import { Button } from '../../../parts/button.tsx'
import { Confirm } from '../../../parts/confirm.tsx'
import { ListTable } from '../../../parts/list-table.tsx'
import { actionColumn, type Column } from '../../../parts/table.tsx'
import { useToast } from '../../../parts/toast.tsx'
import { When } from '../../../parts/when.tsx'
import { useMayAdminister, useUser } from '../../../session.tsx'
import { ROLES } from './user-dialogs.tsx'

const idOf = (link: OpenLink) => link.id

/** The links that nobody has used yet; `changes` is another number whenever one may have been made. */
export function OpenLinks({ changes }: { changes: number }) {
  const me = useUser()
  const mayAdminister = useMayAdminister()
  const toast = useToast()
  const [revoking, setRevoking] = useState<OpenLink>()
  const links = useCursorList(`links ${changes}`, idOf, (cursor, signal) =>
    call('GET /api/admin/links', { query: { cursor } }, signal),
  )
  const mayRevoke = (link: OpenLink) => mayAdminister && (link.role === null || me.role === 'owner')
  return (
    <section class="stack" aria-labelledby="links-title">
      <h2 id="links-title">Open links</h2>
      <ListTable
        label="Open links"
        list={links}
        columns={columnsOf(mayRevoke, setRevoking)}
        empty={
          <p class="soft">Every invitation and every link to a new password was used, or has expired.</p>
        }
      />
      {revoking === undefined ? null : (
        <Confirm
          title="Take this link back?"
          verb="Take back"
          danger
          onClose={() => setRevoking(undefined)}
          action={async () => {
            await call('DELETE /api/admin/links/:id', { params: { id: revoking.id } })
            toast('The link works no more')
            links.reload()
          }}
        >
          <p>Whoever opens it is told that it was used already, or has expired.</p>
        </Confirm>
      )}
    </section>
  )
}

function columnsOf(
  mayRevoke: (link: OpenLink) => boolean,
  onRevoke: (link: OpenLink) => void,
): Column<OpenLink>[] {
  return [
    { label: 'For', kind: 'primary-cell', cell: link => link.email },
    { label: 'To', kind: 'nowrap', cell: purposeOf },
    {
      label: 'Made by',
      cell: ({ made_by }) => made_by ?? <span class="soft">no administrator</span>,
    },
    { label: 'Made', kind: 'nowrap', cell: link => <When iso={link.created_at} style="since" /> },
    { label: 'Works until', kind: 'nowrap', cell: link => <When iso={link.expires_at} /> },
    actionColumn(link =>
      mayRevoke(link) ? (
        <Button small kind="danger" onClick={() => onRevoke(link)}>
          Take back<span class="unseen"> the link for {link.email}</span>
        </Button>
      ) : null,
    ),
  ]
}

function purposeOf({ kind, role }: OpenLink): string {
  if (kind === 'password_reset') return 'a new password'
  return role === null ? 'sign in for an account' : `${ROLES.find(({ value }) => value === role)?.label}`
}
