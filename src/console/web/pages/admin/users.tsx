import { useCallback, useState } from 'preact/hooks'
import type { ConsoleUser } from '../../../api/contract/admin-users.ts'
import { useAction } from '../../api/action.ts'
import { useAddressState, useSettled } from '../../api/address.ts'
import { call } from '../../api/client.ts'
import { useCursorList } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { type Option, SelectField, TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Badge, Empty, FailureNotice } from '../../parts/notice.tsx'
import { Answer, Page } from '../../parts/page.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { When } from '../../parts/when.tsx'
import { useMayAdminister, useUser } from '../../session.tsx'
import { pageQuery } from '../requests.tsx'
import { LinkMade } from './link-made.tsx'

type Role = 'read_only' | 'admin' | 'owner'
type RoleFilter = '' | 'any' | Role

const ROLES: readonly Option<Role>[] = [
  { value: 'read_only', label: 'Read only' },
  { value: 'admin', label: 'Administrator' },
  { value: 'owner', label: 'Owner' },
]
const FILTERS: readonly Option<RoleFilter>[] = [
  { value: '', label: 'Everybody' },
  { value: 'any', label: 'Administrators' },
  ...ROLES,
]
const NO_FILTER = { search: '', role: '' }
const idOf = (user: ConsoleUser) => user.id

export function UsersPage() {
  const me = useUser()
  const mayAdminister = useMayAdminister()
  const [state, change] = useAddressState(NO_FILTER)
  const search = useSettled(state.search.trim())
  const role = FILTERS.find(({ value }) => value === state.role)?.value ?? ''
  const users = useCursorList(
    `${search} ${role}`,
    idOf,
    useCallback(
      (cursor, signal) =>
        call(
          'GET /api/admin/users',
          {
            query: {
              ...pageQuery(cursor),
              ...(search === '' ? {} : { search }),
              ...(role === '' ? {} : { role }),
            },
          },
          signal,
        ),
      [search, role],
    ),
  )
  const [isInviting, setInviting] = useState(false)
  const [managed, setManaged] = useState<ConsoleUser>()
  return (
    <Page
      title="Users"
      lead="Who signs in here. Everybody sees their own account; administrators also see what stands under Administration."
      actions={
        me.role === 'owner' ? (
          <Button kind="primary" onClick={() => setInviting(true)}>
            <Icon name="plus" size={18} /> Invite administrator
          </Button>
        ) : undefined
      }
    >
      <search class="filters" aria-label="Filter users">
        <TextField
          label="Search"
          type="search"
          placeholder="Email"
          value={state.search}
          onValue={text => change({ search: text })}
        />
        <SelectField label="Role" value={role} options={FILTERS} onValue={value => change({ role: value })} />
      </search>
      <Answer query={{ data: users.items, failure: users.failure, reload: users.reload }} what="users">
        {items =>
          items.length === 0 ? (
            <Empty title="Nobody matches">Search for a part of the email, or clear the filter.</Empty>
          ) : (
            <Table
              label="Users"
              columns={columnsOf(mayAdminister ? setManaged : undefined)}
              rows={items}
              keyOf={idOf}
              more={users.more}
            />
          )
        }
      </Answer>
      {isInviting ? <Invite onClose={() => setInviting(false)} /> : null}
      {managed === undefined ? null : (
        <Manage user={managed} onClose={() => setManaged(undefined)} onChanged={users.reload} />
      )}
    </Page>
  )
}

function columnsOf(onManage: ((user: ConsoleUser) => void) | undefined): Column<ConsoleUser>[] {
  return [
    {
      label: 'Email',
      kind: 'primary-cell',
      cell: user => (
        <>
          {user.email}
          {user.reset_requested_at === null ? null : (
            <>
              {' '}
              <Badge kind="warn">Waits for a link</Badge>
            </>
          )}
        </>
      ),
    },
    {
      label: 'Role',
      kind: 'nowrap',
      cell: user =>
        user.role === null ? (
          <span class="soft">Account holder</span>
        ) : (
          <Badge kind="info">{ROLES.find(({ value }) => value === user.role)?.label}</Badge>
        ),
    },
    {
      label: 'Status',
      kind: 'nowrap',
      cell: user => (
        <Badge kind={user.status === 'active' ? 'good' : 'bad'}>
          {user.status === 'active' ? 'Active' : 'Disabled'}
        </Badge>
      ),
    },
    { label: 'Second factor', cell: user => (user.totp ? 'On' : <span class="soft">Off</span>) },
    {
      label: 'Last seen',
      kind: 'nowrap',
      cell: user =>
        user.seen_at === null ? <span class="soft">Never</span> : <When iso={user.seen_at} style="since" />,
    },
    {
      label: 'Account',
      cell: user => <a href={`/admin/accounts/${user.account_id}`}>{user.account_id}</a>,
    },
    ...(onManage === undefined
      ? []
      : [
          {
            label: '',
            kind: 'fit bare',
            cell: (user: ConsoleUser) => (
              <div class="row-actions">
                <Button small kind="quiet" onClick={() => onManage(user)}>
                  Manage<span class="unseen"> {user.email}</span>
                </Button>
              </div>
            ),
          } as const,
        ]),
  ]
}

function Invite({ onClose }: { onClose(): void }) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('admin')
  const [link, setLink] = useState<{ url: string; mailed: boolean }>()
  const invite = useAction(async () => {
    setLink(await call('POST /api/admin/users/invite', { body: { email: email.trim(), role } }))
  })
  if (link !== undefined) {
    return <LinkMade title="Invitation" url={link.url} mailed={link.mailed} onClose={onClose} />
  }
  return (
    <Dialog title="Invite an administrator" onClose={onClose}>
      <Form action={invite} fields={['email', 'role']} verb="Make the link" onCancel={onClose}>
        <TextField
          label="Email"
          type="email"
          autoFocus
          autoComplete="off"
          value={email}
          onValue={setEmail}
          error={invite.errorOf('email')}
        />
        <SelectField
          label="Role"
          hint="Read only sees everything and changes nothing; only an owner says who is an administrator."
          value={role}
          options={ROLES}
          onValue={setRole}
          error={invite.errorOf('role')}
        />
      </Form>
    </Dialog>
  )
}

/** What may be done about somebody who signs in; the server says who may do it to whom. */
function Manage({ user, onClose, onChanged }: { user: ConsoleUser; onClose(): void; onChanged(): void }) {
  const me = useUser()
  const toast = useToast()
  const [link, setLink] = useState<{ url: string; mailed: boolean }>()
  const [isDisabling, setDisabling] = useState(false)
  const [role, setRole] = useState<Role | 'none'>(user.role ?? 'none')
  const params = { id: user.id }
  const act = useAction(async (said: string, action: () => Promise<unknown>) => {
    await action()
    toast(said)
    onChanged()
    onClose()
  })
  const makeLink = useAction(async () => {
    setLink(await call('POST /api/admin/users/:id/reset-link', { params }))
    onChanged()
  })
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
          await call('POST /api/admin/users/:id/disable', { params })
          toast('The user is disabled')
          onChanged()
        }}
      >
        <p>They are signed out and cannot sign in. The account and its keys go on.</p>
      </Confirm>
    )
  }
  const failure = act.failure ?? makeLink.failure
  const changeRole = () =>
    call('PUT /api/admin/users/:id/role', { params, body: { role: role === 'none' ? null : role } })
  const action = { run: () => act.run('The role is changed', changeRole), busy: act.busy, failure }
  return (
    <Dialog title={user.email} onClose={onClose}>
      <div class="stack tight">
        <Button busy={makeLink.busy} onClick={() => makeLink.run()}>
          Make a link to a new password
        </Button>
        <Button
          onClick={() =>
            act.run('Signed out everywhere', () => call('POST /api/admin/users/:id/sign-out', { params }))
          }
        >
          Sign out everywhere
        </Button>
        {user.totp ? (
          <Button
            onClick={() =>
              act.run('The second factor is off', () =>
                call('POST /api/admin/users/:id/totp/remove', { params }),
              )
            }
          >
            Take away the second factor
          </Button>
        ) : null}
        {user.status === 'active' ? (
          <Button kind="danger" onClick={() => setDisabling(true)}>
            Disable
          </Button>
        ) : (
          <Button
            onClick={() =>
              act.run('The user is active', () => call('POST /api/admin/users/:id/enable', { params }))
            }
          >
            Enable
          </Button>
        )}
      </div>
      {me.role === 'owner' ? (
        <Form action={action} fields={['role']} verb="Change role">
          <SelectField
            label="Role"
            value={role}
            options={[{ value: 'none', label: 'Account holder' }, ...ROLES]}
            onValue={setRole}
            error={act.errorOf('role')}
          />
        </Form>
      ) : (
        <FailureNotice failure={failure} />
      )}
    </Dialog>
  )
}
