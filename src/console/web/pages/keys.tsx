import { useState } from 'preact/hooks'
import type { Key } from '../../api/contract/keys.ts'
import { useAddressState, useSettled } from '../api/address.ts'
import { call } from '../api/client.ts'
import { useCursorList } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { TextField } from '../parts/field.tsx'
import { Icon } from '../parts/icon.tsx'
import { ListTable } from '../parts/list-table.tsx'
import { Money } from '../parts/money.tsx'
import { Badge, Empty } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { actionColumn, type Column } from '../parts/table.tsx'
import { useToast } from '../parts/toast.tsx'
import { When } from '../parts/when.tsx'
import { CreateKey } from './key-create.tsx'
import { EditKey } from './key-edit.tsx'
import { RevokeKey } from './key-revoke.tsx'

const PRESETS = { new: '', search: '' }
const idOf = (key: Key) => key.id

/** A holder's keys. */
export function KeysPage() {
  const [address, change, open] = useAddressState(PRESETS)
  const [revoking, setRevoking] = useState<Key>()
  const [editing, setEditing] = useState<Key>()
  const toast = useToast()
  const search = useSettled(address.search.trim())
  const keys = useCursorList(`keys ${search}`, idOf, (cursor, signal) =>
    call('GET /api/keys', { query: { cursor, search } }, signal),
  )
  const isCreating = address.new !== ''
  const create = (
    <Button kind="primary" onClick={() => open({ new: 'yes' })}>
      <Icon name="plus" size={18} /> Create key
    </Button>
  )
  return (
    <Page
      title="Keys"
      lead="What your programs sign in with. A key is shown once, when it is made; only its beginning is kept."
      actions={create}
    >
      <KeySearch value={address.search} onValue={text => change({ search: text })} />
      <ListTable
        label="Keys"
        list={keys}
        columns={keyColumns({ change: 'Edit', onChange: setEditing, onRevoke: setRevoking })}
        empty={
          search === '' ? (
            <Empty title="No keys yet" action={create}>
              A key calls every model your account reaches, from any client: only the address and the key
              change.
            </Empty>
          ) : (
            <NoKeyMatches />
          )
        }
      />
      {isCreating ? <CreateKey onClose={() => change({ new: '' })} onCreated={keys.reload} /> : null}
      {editing === undefined ? null : (
        <EditKey
          apiKey={editing}
          onClose={() => setEditing(undefined)}
          onDone={() => {
            keys.reload()
            toast('The key is changed')
          }}
        />
      )}
      {revoking === undefined ? null : (
        <RevokeKey
          apiKey={revoking}
          revoke={id => call('POST /api/keys/:id/revoke', { params: { id } })}
          onClose={() => setRevoking(undefined)}
          onDone={keys.reload}
        />
      )}
    </Page>
  )
}

/** Finds keys by name, or by how they begin. */
export function KeySearch({ value, onValue }: { value: string; onValue(text: string): void }) {
  return (
    <search class="filters" aria-label="Filter keys">
      <TextField
        label="Search"
        type="search"
        placeholder="Name, or sk-…"
        spellcheck={false}
        value={value}
        onValue={onValue}
      />
    </search>
  )
}

/** What stands where a search has found no key. */
export function NoKeyMatches() {
  return <Empty title="No key matches">Search for a part of the name, or for how the key begins.</Empty>
}

/** Whether a key works. */
export function KeyStatus({ status }: { status: Key['status'] }) {
  const [kind, name] = {
    active: ['good', 'Active'],
    expired: ['warn', 'Expired'],
    revoked: ['bad', 'Revoked'],
  }[status] as ['good' | 'warn' | 'bad', string]
  return <Badge kind={kind}>{name}</Badge>
}

/** What may be done to a key. */
interface KeyActs {
  /** What the button says that changes it. */
  change: string
  onChange(key: Key): void
  onRevoke(key: Key): void
}

/** Keys as a table; without acts nothing can be done to them. */
export function keyColumns(acts: KeyActs | undefined): Column<Key>[] {
  return [
    {
      label: 'Name',
      kind: 'primary-cell',
      cell: key => (
        <>
          {key.name || 'Unnamed'} <br />
          <code class="soft">{key.prefix}…</code>
        </>
      ),
    },
    { label: 'Status', kind: 'nowrap', cell: key => <KeyStatus status={key.status} /> },
    {
      label: 'Models',
      cell: key =>
        key.models === null ? (
          <span class="soft">All of the account</span>
        ) : (
          <span title={key.models.join(', ')}>
            {key.models.length <= 2 ? key.models.join(', ') : `${key.models.length} models`}
          </span>
        ),
    },
    {
      label: 'Cap',
      kind: 'nowrap',
      cell: key =>
        key.cap === null ? (
          <span class="soft">None</span>
        ) : (
          <span>
            <Money amount={key.spent ?? '0'} style="short" /> of <Money amount={key.cap.amount} />{' '}
            <span class="soft">{CAP_PERIODS[key.cap.period]}</span>
          </span>
        ),
    },
    {
      label: 'Last used',
      kind: 'nowrap',
      cell: key => <When iso={key.last_used_at} style="since" />,
    },
    {
      label: 'Expires',
      kind: 'nowrap',
      cell: key => <When iso={key.expires_at} style="day" />,
    },
    ...(acts === undefined ? [] : [actionColumn<Key>(key => buttonsOf(key, acts))]),
  ]
}

function buttonsOf(key: Key, { change, onChange, onRevoke }: KeyActs) {
  return key.status === 'revoked' ? null : (
    <>
      <Button small kind="quiet" onClick={() => onChange(key)}>
        {change}
        <span class="unseen"> {key.name || key.prefix}</span>
      </Button>
      <Button small kind="danger" onClick={() => onRevoke(key)}>
        Revoke<span class="unseen"> {key.name || key.prefix}</span>
      </Button>
    </>
  )
}

const CAP_PERIODS = { day: 'a day', week: 'a week', month: 'a month', total: 'in all' } as const
