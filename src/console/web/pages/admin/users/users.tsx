import { useState } from 'preact/hooks'
import type { ConsoleUser } from '../../../../api/contract/admin-users.ts'
import { useAddressState, useSettled } from '../../../api/address.ts'
import { call } from '../../../api/client.ts'
import { fieldsOf } from '../../../api/form-state.ts'
import { useOpenedRow } from '../../../api/opened.ts'
import { useCursorList } from '../../../api/query.ts'
import { AddButton, Button } from '../../../parts/button.tsx'
import { type Option, SelectField, TextField } from '../../../parts/field.tsx'
import { ListTable } from '../../../parts/list-table.tsx'
import { Badge, Empty } from '../../../parts/notice.tsx'
import { Page } from '../../../parts/page.tsx'
import { actionColumn, type Column } from '../../../parts/table.tsx'
import { When } from '../../../parts/when.tsx'
import { useMayAdminister, useUser } from '../../../session.tsx'
import { OpenLinks } from './open-links.tsx'
import { InviteUser, ManageUser, ROLES, type Role } from './user-dialogs.tsx'

type RoleFilter = '' | 'any' | Role
type StatusFilter = '' | ConsoleUser['status'] | 'waiting'

const FILTERS: readonly Option<RoleFilter>[] = [
  { value: '', label: 'Everybody' },
  { value: 'any', label: 'Administrators' },
  ...ROLES,
]
const STATUSES: readonly Option<StatusFilter>[] = [
  { value: '', label: 'Any' },
  { value: 'active', label: 'Active' },
  { value: 'disabled', label: 'Disabled' },
  { value: 'waiting', label: 'Waits for a link' },
]
const NO_FILTER = { search: '', role: '', status: '' }
const idOf = (user: ConsoleUser) => user.id

/** Who signs in, and the links that nobody has used yet. */
export function UsersPage() {
  const me = useUser()
  const mayAdminister = useMayAdminister()
  const { state, change } = useAddressState(NO_FILTER)
  const search = useSettled(state.search.trim())
  const role = FILTERS.find(({ value }) => value === state.role)?.value ?? ''
  const status = STATUSES.find(({ value }) => value === state.status)?.value ?? ''
  const users = useCursorList(`${search} ${role} ${status}`, idOf, (cursor, signal) => {
    const query = { cursor, search, role: role || undefined, status: status || undefined }
    return call('GET /api/admin/users', { query }, signal)
  })
  const [isInviting, setInviting] = useState(false)
  const [managed, manage] = useOpenedRow(users)
  const [links, setLinks] = useState(0)
  /** A dialog in which a link may have been made. */
  const onHandedOut = (close: () => void) => {
    setLinks(count => count + 1)
    close()
  }
  return (
    <Page
      title="Users"
      lead="Who signs in here. Everybody sees their own account; administrators also see what stands under Administration."
      actions={
        me.role === 'owner' ? (
          <AddButton onClick={() => setInviting(true)}>Invite administrator</AddButton>
        ) : undefined
      }
    >
      <search class="filters" aria-label="Filter users">
        <TextField label="Search" type="search" placeholder="Email" {...fieldsOf(state, change)('search')} />
        <SelectField label="Role" value={role} options={FILTERS} onValue={value => change({ role: value })} />
        <SelectField
          label="Status"
          value={status}
          options={STATUSES}
          onValue={value => change({ status: value })}
        />
      </search>
      <ListTable
        label="Users"
        list={users}
        columns={columnsOf(mayAdminister ? manage : undefined)}
        empty={<Empty title="Nobody matches">Search for a part of the email, or clear the filters.</Empty>}
      />
      <OpenLinks changes={links} />
      {isInviting ? <InviteUser onClose={() => onHandedOut(() => setInviting(false))} /> : null}
      {managed === undefined ? null : (
        <ManageUser user={managed} onClose={() => onHandedOut(() => manage())} onChanged={users.reload} />
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
    { label: 'Last seen', kind: 'nowrap', cell: user => <When iso={user.seen_at} style="since" /> },
    {
      label: 'Account',
      cell: user => <a href={`/admin/accounts/${user.account_id}`}>{user.account_id}</a>,
    },
    ...(onManage === undefined
      ? []
      : [
          actionColumn<ConsoleUser>(user => (
            <Button small kind="quiet" onClick={() => onManage(user)}>
              Manage<span class="unseen"> {user.email}</span>
            </Button>
          )),
        ]),
  ]
}
