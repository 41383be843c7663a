import { useState } from 'preact/hooks'
import type { Key } from '../../../api/contract/keys.ts'
import { useAddressState, useSettled } from '../../api/address.ts'
import { call } from '../../api/client.ts'
import { useOpenedRow } from '../../api/opened.ts'
import { useCursorList } from '../../api/query.ts'
import { AddButton, Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { useToast } from '../../parts/toast.tsx'
import { CreateKey } from './key-create.tsx'
import { EditKey } from './key-edit.tsx'
import { RevokeKey } from './key-revoke.tsx'
import { KeyTable, keyQuery } from './key-table.tsx'
import { UseKey } from './key-use.tsx'

const PRESETS = { new: '', use: '', search: '', status: '' }
const idOf = (key: Key) => key.id

/** A holder's keys. */
export function KeysPage() {
  const { state: address, change, open } = useAddressState(PRESETS)
  const [revoking, setRevoking] = useState<Key>()
  const toast = useToast()
  const filter = useSettled(keyQuery(address))
  const keys = useCursorList(`keys ${JSON.stringify(filter)}`, idOf, (cursor, signal) =>
    call('GET /api/keys', { query: { ...filter, cursor } }, signal),
  )
  const [editing, edit] = useOpenedRow(keys)
  const isCreating = address.new !== ''
  const create = <AddButton onClick={() => open({ new: 'yes' })}>Create key</AddButton>
  return (
    <Page
      title="Keys"
      lead="What your programs sign in with. A key is shown once, when it is made; only its beginning is kept."
      actions={
        <>
          {create}
          <Button onClick={() => open({ use: 'yes' })}>Use a key</Button>
        </>
      }
    >
      <KeyTable
        list={keys}
        requestsAt="/requests?key="
        filter={address}
        onFilter={change}
        acts={{ change: 'Edit', onChange: edit, onRevoke: setRevoking }}
        empty={
          filter.search === '' && filter.status === undefined ? (
            <Empty title="No keys yet" action={create}>
              A key calls every model your account reaches, from any client: only the address and the key
              change.
            </Empty>
          ) : undefined
        }
      />
      {isCreating ? (
        <CreateKey
          onClose={() => {
            change({ new: '' })
            keys.reload()
          }}
        />
      ) : null}
      {address.use === '' ? null : <UseKey onClose={() => change({ use: '' })} />}
      {editing === undefined ? null : (
        <EditKey
          apiKey={editing}
          onClose={() => edit()}
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
