import type { Key } from '../../../api/contract/keys.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { useToast } from '../../parts/toast.tsx'
import { KeyPrefix } from './key-table.tsx'

/** Asks whether a key is to be revoked; `revoke` has the server do it. */
export function RevokeKey({
  apiKey,
  revoke,
  onClose,
  onDone,
}: {
  apiKey: Key
  revoke(id: number): Promise<unknown>
  onClose(): void
  onDone(): void
}) {
  const toast = useToast()
  return (
    <Confirm
      title="Revoke this key?"
      verb="Revoke key"
      danger
      onClose={onClose}
      action={async () => {
        await revoke(apiKey.id)
        onDone()
        toast('The key is revoked')
      }}
    >
      <p>
        <b>{apiKey.name || 'Unnamed'}</b>
        {apiKey.status === 'expired'
          ? ' has expired: it is refused already.'
          : ' stops working at once and for good; its running answers end.'}{' '}
        It begins with <KeyPrefix of={apiKey} />.
      </p>
    </Confirm>
  )
}
