import { useState } from 'preact/hooks'
import type { Account } from '../../../api/contract/admin-accounts.ts'
import { useAction } from '../../api/action.ts'
import { call } from '../../api/client.ts'
import { isNegative } from '../../format/money.ts'
import { typedText } from '../../format/typed.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Money } from '../../parts/money.tsx'
import { OwnPassword } from '../gate/fields.tsx'

/** What the dialog of an act on an account is given; `onDone` is told what to say of it. */
export interface ActProps {
  account: Account
  onDone(said: string): void
  onClose(): void
}

/** Acts that ask why, and one of them for the password as well, by their name in the API. */
export type ReasonedAct = 'suspend' | 'resume' | 'close' | 'reopen' | 'erase'

const WORDS: Record<
  ReasonedAct,
  { title: string; verb: string; done: string; danger?: boolean; what(account: Account): string }
> = {
  suspend: {
    title: 'Suspend this account?',
    verb: 'Suspend account',
    done: 'The account is suspended',
    danger: true,
    what: () =>
      'Its keys are refused at once and its running answers end. Nothing is lost: it can be resumed.',
  },
  resume: {
    title: 'Resume this account?',
    verb: 'Resume account',
    done: 'The account is active again',
    what: () => 'Its keys work again at once.',
  },
  close: {
    title: 'Close this account?',
    verb: 'Close account',
    done: 'The account is closed',
    danger: true,
    what: ({ email }) =>
      `Its keys are revoked for good, its running answers end, and ${email} is signed out and cannot sign in. Balance, entries and receipts stay; what is left can be paid out afterwards.`,
  },
  reopen: {
    title: 'Reopen this account?',
    verb: 'Reopen account',
    done: 'The account is open again',
    what: ({ email }) => `${email} can sign in again. The keys stay revoked: new ones have to be made.`,
  },
  erase: {
    title: 'Erase its holder?',
    verb: 'Erase holder',
    done: 'The holder is erased',
    danger: true,
    what: ({ email, id }) =>
      `${email} is forgotten for good: the address, the way to sign in, what the keys were called. Entries, receipts and statements stay under number ${id}, and the audit log keeps what it says. The account cannot be reopened.`,
  },
}

/** Asks why, and does one of them. */
export function Reasoned({ act, account, onDone, onClose }: ActProps & { act: ReasonedAct }) {
  const { title, verb, done, danger = false, what } = WORDS[act]
  const [reason, setReason] = useState('')
  const [password, setPassword] = useState('')
  const change = useAction(async () => {
    const params = { id: account.id }
    const body = { reason: typedReason(reason) }
    if (act === 'reopen') {
      await call(`POST /api/admin/accounts/:id/${act}`, { params, body: { ...body, password } })
    } else await call(`POST /api/admin/accounts/:id/${act}`, { params, body })
    onDone(done)
  })
  return (
    <Dialog title={title} onClose={onClose}>
      <Form action={change} verb={verb} danger={danger} onCancel={onClose}>
        <p>{what(account)}</p>
        <ReasonField value={reason} onValue={setReason} error={change.errorOf('reason')} />
        {act === 'reopen' ? (
          <OwnPassword value={password} onValue={setPassword} error={change.errorOf('password')} />
        ) : null}
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

interface ReasonProps {
  value: string
  onValue(text: string): void
  error: string | undefined
}

/** The field that asks why, where nothing is asked before it. */
function ReasonField(props: ReasonProps) {
  return <TextField label="Reason" autoFocus {...props} />
}

/** The field that asks why money is posted, which its owner is told. */
export function ToldReason(props: ReasonProps) {
  return <TextField label="Reason" hint="The account holder sees it, and so does the audit log." {...props} />
}

/** What was typed into one of them; throws an ApiFailure for nothing. */
export function typedReason(text: string): string {
  return typedText(text, 'reason', 'Say why, for the record.')
}
