import { useState } from 'preact/hooks'
import type { ConsoleUser } from '../../../../api/contract/admin-users.ts'
import { call } from '../../../api/client.ts'
import { useForm, useRevision } from '../../../api/form-state.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { type Option, SelectField, TextField } from '../../../parts/field.tsx'
import { FormDialog } from '../../../parts/form.tsx'
import { useToast } from '../../../parts/toast.tsx'
import { useUser } from '../../../session.tsx'
import { OwnPassword } from '../../gate/fields.tsx'
import { LinkMade, type OneTimeLink } from './link-made.tsx'

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
  const [link, setLink] = useState<OneTimeLink>()
  const invite = useForm({ email: '', role: 'admin' as Role, password: '' }, async texts => {
    const body = { ...texts, email: texts.email.trim() }
    setLink(await call('POST /api/admin/users/invite', { body }))
  })
  if (link !== undefined) {
    return <LinkMade title="Invitation" link={link} onClose={onClose} />
  }
  return (
    <FormDialog title="Invite an administrator" verb="Make the link" action={invite} onClose={onClose}>
      <TextField label="Email" type="email" autoFocus autoComplete="off" {...invite.field('email')} />
      <SelectField
        label="Role"
        hint="Read only sees everything and changes nothing; only an owner says who is an administrator."
        options={ROLES}
        {...invite.field('role')}
      />
      <OwnPassword {...invite.field('password')} />
    </FormDialog>
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
  const [act, setAct] = useState<UserAct>()
  const isOneself = me.id === user.id
  const onDone = (said: string) => {
    toast(said)
    onChanged()
    onClose()
  }
  switch (act) {
    case undefined:
      break
    case 'role':
      return <ChangeRole user={user} onDone={onDone} onClose={onClose} />
    case 'reset-link':
      return <ResetLink user={user} onMade={onChanged} onClose={onClose} />
    default:
      return <Plain act={act} user={user} onDone={onDone} onClose={onClose} />
  }
  return (
    <Dialog title={user.email} onClose={onClose}>
      {isOneself ? (
        <p>
          Your password and your second factor are under <a href="/settings">Settings</a>.
        </p>
      ) : null}
      <div class="stack tight">
        {me.role === 'owner' ? <Button onClick={() => setAct('role')}>Change the role</Button> : null}
        {isOneself ? null : (
          <Button onClick={() => setAct('reset-link')}>Make a link to a new password</Button>
        )}
        <Button onClick={() => setAct('sign-out')}>Sign out everywhere</Button>
        {user.totp && !isOneself ? (
          <Button onClick={() => setAct('totp/remove')}>Take away the second factor</Button>
        ) : null}
        {user.status === 'active' ? (
          <Button kind="danger" onClick={() => setAct('disable')}>
            Disable
          </Button>
        ) : (
          <Button onClick={() => setAct('enable')}>Enable</Button>
        )}
      </div>
    </Dialog>
  )
}

/** Acts that take no more than a password, if that, by their name in the API. */
type PlainAct = 'sign-out' | 'totp/remove' | 'disable' | 'enable'
type UserAct = 'role' | 'reset-link' | PlainAct

const WORDS: Record<PlainAct, { title(email: string): string; verb: string; done: string; what: string }> = {
  'sign-out': {
    title: email => `Sign ${email} out everywhere?`,
    verb: 'Sign out',
    done: 'Signed out everywhere',
    what: 'They can sign in again. Keys keep working.',
  },
  'totp/remove': {
    title: email => `Take away the second factor of ${email}?`,
    verb: 'Take away',
    done: 'The second factor is off',
    what: 'From now on the password alone signs them in.',
  },
  disable: {
    title: email => `Disable ${email}?`,
    verb: 'Disable user',
    done: 'The user is disabled',
    what: 'They are signed out and cannot sign in. The account and its keys go on.',
  },
  enable: {
    title: email => `Enable ${email}?`,
    verb: 'Enable user',
    done: 'The user is active',
    what: 'They can sign in again.',
  },
}

interface ActProps {
  user: ConsoleUser
  /** Is told what to say of it. */
  onDone(said: string): void
  onClose(): void
}

function Plain({ act, user, onDone, onClose }: ActProps & { act: PlainAct }) {
  const { title, verb, done, what } = WORDS[act]
  const change = useForm({ password: '' }, async body => {
    const params = { id: user.id }
    if (asksPassword(act)) await call(`POST /api/admin/users/:id/${act}`, { params, body })
    else await call(`POST /api/admin/users/:id/${act}`, { params })
    onDone(done)
  })
  return (
    <FormDialog
      title={title(user.email)}
      verb={verb}
      danger={act === 'disable'}
      action={change}
      onClose={onClose}
    >
      <p>{what}</p>
      {asksPassword(act) ? <OwnPassword {...change.field('password')} /> : null}
    </FormDialog>
  )
}

/** Letting in takes it, shutting out does not. */
function asksPassword(act: PlainAct): act is 'totp/remove' | 'enable' {
  return act === 'totp/remove' || act === 'enable'
}

function ResetLink({ user, onMade, onClose }: { user: ConsoleUser; onMade(): void; onClose(): void }) {
  const [link, setLink] = useState<OneTimeLink>()
  const make = useForm({ password: '' }, async body => {
    setLink(await call('POST /api/admin/users/:id/reset-link', { params: { id: user.id }, body }))
    onMade()
  })
  if (link !== undefined) {
    return <LinkMade title="Link to a new password" link={link} onClose={onClose} />
  }
  return (
    <FormDialog
      title={`Let ${user.email} choose a new password?`}
      verb="Make the link"
      action={make}
      onClose={onClose}
    >
      <OwnPassword {...make.field('password')} />
    </FormDialog>
  )
}

function ChangeRole({ user, onDone, onClose }: ActProps) {
  const revision = useRevision(user)
  const start = { role: user.role ?? ('none' as const), password: '' }
  const save = useForm(start, async ({ role, password }) => {
    const body = { role: role === 'none' ? null : role, revision, password }
    await call('PUT /api/admin/users/:id/role', { params: { id: user.id }, body })
    onDone('The role is changed')
  })
  return (
    <FormDialog title={`The role of ${user.email}`} verb="Change role" action={save} onClose={onClose}>
      <SelectField
        label="Role"
        options={[{ value: 'none', label: 'Account holder' }, ...ROLES]}
        {...save.field('role')}
      />
      <OwnPassword {...save.field('password')} />
    </FormDialog>
  )
}
