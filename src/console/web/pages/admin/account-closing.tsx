import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { call } from '../../api/client.ts'
import { isNegative } from '../../format/money.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Money } from '../../parts/money.tsx'
import { type ActProps, ReasonField, typedReason } from './act-parts.tsx'

/** Ends an account. */
export function Close({ account, onDone, onClose }: ActProps) {
  const [reason, setReason] = useState('')
  const close = useAction(async () => {
    const body = { reason: typedReason(reason) }
    await call('POST /api/admin/accounts/:id/close', { params: { id: account.id }, body })
    onDone('The account is closed')
  })
  return (
    <Dialog title="Close this account?" onClose={onClose}>
      <Form action={close} verb="Close account" onCancel={onClose}>
        <p>
          Its keys are revoked for good, its running answers end, and {account.email} is signed out and cannot
          sign in. Balance, entries and receipts stay; what is left can be paid out afterwards.
        </p>
        <ReasonField value={reason} onValue={setReason} error={close.errorOf('reason')} />
      </Form>
    </Dialog>
  )
}

/** Makes a closed account active again. */
export function Reopen({ account, onDone, onClose }: ActProps) {
  const [reason, setReason] = useState('')
  const reopen = useAction(async () => {
    const body = { reason: typedReason(reason) }
    await call('POST /api/admin/accounts/:id/reopen', { params: { id: account.id }, body })
    onDone('The account is open again')
  })
  return (
    <Dialog title="Reopen this account?" onClose={onClose}>
      <Form action={reopen} verb="Reopen account" onCancel={onClose}>
        <p>{account.email} can sign in again. The keys stay revoked: new ones have to be made.</p>
        <ReasonField value={reason} onValue={setReason} error={reopen.errorOf('reason')} />
      </Form>
    </Dialog>
  )
}

/** Forgets who the holder of a closed account was. */
export function Erase({ account, onDone, onClose }: ActProps) {
  const [reason, setReason] = useState('')
  const erase = useAction(async () => {
    const body = { reason: typedReason(reason) }
    await call('POST /api/admin/accounts/:id/erase', { params: { id: account.id }, body })
    onDone('The holder is erased')
  })
  return (
    <Dialog title="Erase its holder?" onClose={onClose}>
      <Form action={erase} verb="Erase holder" onCancel={onClose}>
        <p>
          {account.email} is forgotten for good: the address, the way to sign in, what the keys were called.
          Entries, receipts and statements stay under number {account.id}, and the audit log keeps what it
          says. The account cannot be reopened.
        </p>
        <ReasonField value={reason} onValue={setReason} error={erase.errorOf('reason')} />
      </Form>
    </Dialog>
  )
}

const OF_CREDIT = [
  { value: 'refund', label: 'It was paid back to the holder' },
  { value: 'debit', label: 'It is kept' },
] as const

/** Posts what is left of a closed account out of it. */
export function PayOut({ account, onDone, onClose }: ActProps) {
  const isDebt = isNegative(account.balance)
  const [where, setWhere] = useState<'refund' | 'debit'>('refund')
  const [reason, setReason] = useState('')
  const post = useAction(async () => {
    const body = { as: isDebt ? ('write_off' as const) : where, reason: typedReason(reason) }
    await call('POST /api/admin/accounts/:id/pay-out', { params: { id: account.id }, body })
    onDone('The balance is 0')
  })
  return (
    <Dialog title={isDebt ? 'Write off the debt' : 'Pay out the balance'} onClose={onClose}>
      <Form action={post} verb={isDebt ? 'Write off' : 'Pay out'} onCancel={onClose}>
        <p>
          All that is left, <Money amount={account.balance} />, is posted out of the account. No money moves
          by this: it says in the books what became of it.
        </p>
        {isDebt ? null : (
          <SelectField label="Where it went" value={where} options={OF_CREDIT} onValue={setWhere} />
        )}
        <ReasonField value={reason} onValue={setReason} error={post.errorOf('reason')} />
      </Form>
    </Dialog>
  )
}
