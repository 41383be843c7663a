import { useState } from 'preact/hooks'
import type { Key } from '../../../../api/contract/keys.ts'
import { useAddressState, useSettled } from '../../../api/address.ts'
import { call } from '../../../api/client.ts'
import { useForm, useRevision } from '../../../api/form-state.ts'
import { useOpenedRow } from '../../../api/opened.ts'
import { useCursorList } from '../../../api/query.ts'
import { limitTexts, readLimits } from '../../../format/limit-texts.ts'
import { FormDialog } from '../../../parts/form.tsx'
import { Empty } from '../../../parts/notice.tsx'
import { useToast } from '../../../parts/toast.tsx'
import { RevokeKey } from '../../keys/key-revoke.tsx'
import { KeyTable, keyQuery } from '../../keys/key-table.tsx'
import { LimitFields } from '../../keys/limit-fields.tsx'

/** In the address, which is that of the account: which keys are listed, by name and status. */
const PRESETS = { keys: '', key_status: '' }
const keyId = (key: Key) => key.id

interface AccountKeysProps {
  id: number
  /** How many acts on the account were done here: one that closes it revokes them. */
  changes: number
  mayAdminister: boolean
}

/** The keys of an account, which an administrator may limit and revoke. */
export function AccountKeys({ id, changes, mayAdminister }: AccountKeysProps) {
  const [revoking, setRevoking] = useState<Key>()
  const { state: address, change } = useAddressState(PRESETS)
  const asked = { search: address.keys, status: address.key_status }
  const filter = useSettled(keyQuery(asked))
  const keys = useCursorList(
    `keys ${id} ${JSON.stringify(filter)}`,
    keyId,
    (cursor, signal) =>
      call('GET /api/admin/accounts/:id/keys', { params: { id }, query: { ...filter, cursor } }, signal),
    changes,
  )
  const [limiting, limit] = useOpenedRow(keys)
  return (
    <section class="stack" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <KeyTable
        list={keys}
        requestsAt={`/admin/traffic?account=${id}&key=`}
        filter={asked}
        onFilter={({ search = asked.search, status = asked.status }) =>
          change({ keys: search, key_status: status })
        }
        acts={mayAdminister ? { change: 'Limit', onChange: limit, onRevoke: setRevoking } : undefined}
        empty={
          filter.search === '' && filter.status === undefined ? (
            <Empty title="No keys">Whoever signs in for this account makes them.</Empty>
          ) : undefined
        }
      />
      {limiting === undefined ? null : (
        <LimitKey apiKey={limiting} onClose={() => limit()} onDone={keys.reload} />
      )}
      {revoking === undefined ? null : (
        <RevokeKey
          apiKey={revoking}
          revoke={key => call('POST /api/admin/keys/:id/revoke', { params: { id: key } })}
          onClose={() => setRevoking(undefined)}
          onDone={keys.reload}
        />
      )}
    </section>
  )
}

function LimitKey({ apiKey, onClose, onDone }: { apiKey: Key; onClose(): void; onDone(): void }) {
  const revision = useRevision(apiKey)
  const toast = useToast()
  const change = useForm(limitTexts(apiKey.limits), async limits => {
    await call('PATCH /api/admin/keys/:id/limits', {
      params: { id: apiKey.id },
      body: { ...readLimits(limits), revision },
    })
    toast('The limits of the key are changed')
    onDone()
    onClose()
  })
  return (
    <FormDialog title={`Limits of ${apiKey.label}`} verb="Save limits" action={change} onClose={onClose}>
      <p class="soft">Left empty: the deployment's default for keys.</p>
      <LimitFields field={change.field} />
    </FormDialog>
  )
}
