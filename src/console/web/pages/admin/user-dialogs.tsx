import { useState } from 'preact/hooks'
import type { ConsoleUser } from '../../../api/contract/admin-users.ts'
import { useAction } from '../../api/action.ts'
import { call } from '../../api/client.ts'
import { fieldsOf, useRevision, useTexts } from '../../api/form-state.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog, useHeldOpen } from '../../parts/dialog.tsx'
import { type Option, SelectField, TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { FailureNotice } from '../../parts/notice.tsx'
import { useToast } from '../../parts/toast.tsx'
import { useUser } from '../../session.tsx'
import { LinkMade } from './link-made.tsx'

/** What an administrator may do. */
export type Role = 'read_only' | 'admin' | 'owner'

/** The roles to choose from, the least first. */
export const ROLES: readonly Option<Role>[] = [
  { value: 'read_only', label: 'Read only' },
  { value: 'admin', label: 'Administrator' },
  { value: 'owner', label: 'Owner' },
]

/** Invites somebody who administers. */
export function InviteUser({ onClose }: { onClose(): void }) {
  const [texts, change] = useTexts(() => ({ email: '', role: 'admin' as Role }))
  const [link, setLink] = useState<{ url: string; mailed: boolean }>()
  const invite = useAction(async () => {
    const body = { email: texts.email.trim(), role: texts.role }
    setLink(await call('POST /api/admin/users/invite', { body }))
  })
  const field = fieldsOf(texts, change, invite.errorOf)
  if (link !== undefined) {
    return <LinkMade title="Invitation" url={link.url} mailed={link.mailed} onClose={onClose} />
  }
  return (
    <Dialog title="Invite an administrator" onClose={onClose}>
      <Form action={invite} verb="Make the link" onCancel={onClose}>
        <TextField label="Email" type="email" autoFocus autoComplete="off" {...field('email')} />
        <SelectField
          label="Role"
          hint="Read only sees everything and changes nothing; only an owner says who is an administrator."
          options={ROLES}
          {...field('role')}
        />
      </Form>
    </Dialog>
  )
}

/** What may be done about somebody who signs in; the server says who may do it to whom. */
export function ManageUser({
  user,
  onClose,
  onChanged,
}: {
  user: ConsoleUser
  onClose(): void
  onChanged(): void
}) {
  const me = useUser()
  const toast = useToast()
  const [link, setLink] = useState<Link>()
  const [isDisabling, setDisabling] = useState(false)
  if (link !== undefined) {
    return <LinkMade title="Link to a new password" url={link.url} mailed={link.mailed} onClose={onClose} />
  }
  if (isDisabling) {
    return (
      <Confirm
        title={`Disable ${user.email}?`}
        verb="Disable user"
        danger
        onClose={onClose}
        action={async () => {
          await call('POST /api/admin/users/:id/disable', { params: { id: user.id } })
          toast('The user is disabled')
          onChanged()
        }}
      >
        <p>They are signed out and cannot sign in. The account and its keys go on.</p>
      </Confirm>
    )
  }
  const onDone = (said: string) => {
    toast(said)
    onChanged()
    onClose()
  }
  return (
    <Dialog title={user.email} onClose={onClose}>
      <UserActs
        user={user}
        onDone={onDone}
        onLink={made => {
          setLink(made)
          onChanged()
        }}
        onDisable={() => setDisabling(true)}
      />
      {me.role === 'owner' ? <ChangeRole user={user} onDone={onDone} /> : null}
    </Dialog>
  )
}

interface Link {
  url: string
  mailed: boolean
}

function UserActs({
  user,
  onDone,
  onLink,
  onDisable,
}: {
  user: ConsoleUser
  onDone(said: string): void
  onLink(link: Link): void
  onDisable(): void
}) {
  const isOneself = useUser().id === user.id
  const params = { id: user.id }
  const act = useAction(async (action: () => Promise<unknown>) => action())
  useHeldOpen(act.busy)
  const run = (said: string, action: () => Promise<unknown>) =>
    act.run(async () => {
      await action()
      onDone(said)
    })
  return (
    <div class="stack tight">
      {isOneself ? (
        <p>
          Your password and your second factor are under <a href="/settings">Settings</a>.
        </p>
      ) : (
        <Button
          busy={act.busy}
          onClick={() =>
            act.run(async () => onLink(await call('POST /api/admin/users/:id/reset-link', { params })))
          }
        >
          Make a link to a new password
        </Button>
      )}
      <Button
        busy={act.busy}
        onClick={() =>
          run('Signed out everywhere', () => call('POST /api/admin/users/:id/sign-out', { params }))
        }
      >
        Sign out everywhere
      </Button>
      {user.totp && !isOneself ? (
        <Button
          busy={act.busy}
          onClick={() =>
            run('The second factor is off', () => call('POST /api/admin/users/:id/totp/remove', { params }))
          }
        >
          Take away the second factor
        </Button>
      ) : null}
      {user.status === 'active' ? (
        <Button kind="danger" disabled={act.busy} onClick={onDisable}>
          Disable
        </Button>
      ) : (
        <Button
          busy={act.busy}
          onClick={() =>
            run('The user is active', () => call('POST /api/admin/users/:id/enable', { params }))
          }
        >
          Enable
        </Button>
      )}
      <FailureNotice failure={act.failure} />
    </div>
  )
}

function ChangeRole({ user, onDone }: { user: ConsoleUser; onDone(said: string): void }) {
  const [role, setRole] = useState<Role | 'none'>(user.role ?? 'none')
  const revision = useRevision(user)
  const change = useAction(async () => {
    await call('PUT /api/admin/users/:id/role', {
      params: { id: user.id },
      body: { role: role === 'none' ? null : role, revision },
    })
    onDone('The role is changed')
  })
  return (
    <Form action={change} verb="Change role">
      <SelectField
        label="Role"
        value={role}
        options={[{ value: 'none', label: 'Account holder' }, ...ROLES]}
        onValue={setRole}
        error={change.errorOf('role')}
      />
    </Form>
  )
}
