import type { Account } from '../../../../api/contract/admin-accounts.ts'
import { call } from '../../../api/client.ts'
import { type FieldOf, useForm } from '../../../api/form-state.ts'
import { isNegative } from '../../../format/money.ts'
import { typedText } from '../../../format/typed.ts'
import { type Option, SelectField, TextField } from '../../../parts/field.tsx'
import { FormDialog } from '../../../parts/form.tsx'
import { Money } from '../../../parts/money.tsx'
import { OwnPassword } from '../../gate/fields.tsx'

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
  const change = useForm({ reason: '', password: '' }, async ({ reason, password }) => {
    const params = { id: account.id }
    const body = { reason: typedReason(reason) }
    if (act === 'reopen') {
      await call(`POST /api/admin/accounts/:id/${act}`, { params, body: { ...body, password } })
    } else await call(`POST /api/admin/accounts/:id/${act}`, { params, body })
    onDone(done)
  })
  return (
    <FormDialog title={title} verb={verb} danger={danger} action={change} onClose={onClose}>
      <p>{what(account)}</p>
      <TextField label="Reason" autoFocus {...change.field('reason')} />
      {act === 'reopen' ? <OwnPassword {...change.field('password')} /> : null}
    </FormDialog>
  )
}

type PaidOutAs = 'refund' | 'debit'

const OF_CREDIT: readonly Option<PaidOutAs>[] = [
  { value: 'refund', label: 'It was paid back to the holder' },
  { value: 'debit', label: 'It is kept' },
]

/** Posts what is left of a closed account out of it. */
export function PayOut({ account, onDone, onClose }: ActProps) {
  const isDebt = isNegative(account.balance)
  const start = { as: 'refund' as PaidOutAs, reason: '' }
  const post = useForm(start, async ({ as, reason }) => {
    const body = { as: isDebt ? ('write_off' as const) : as, reason: typedReason(reason) }
    await call('POST /api/admin/accounts/:id/pay-out', { params: { id: account.id }, body })
    onDone('The balance is 0')
  })
  return (
    <FormDialog
      title={isDebt ? 'Write off the debt' : 'Pay out the balance'}
      verb={isDebt ? 'Write off' : 'Pay out'}
      action={post}
      onClose={onClose}
    >
      <p>
        All that is left, <Money amount={account.balance} />, is posted out of the account. No money moves by
        this: it says in the books what became of it.
      </p>
      {isDebt ? null : <SelectField label="Where it went" options={OF_CREDIT} {...post.field('as')} />}
      <TextField label="Reason" autoFocus {...post.field('reason')} />
    </FormDialog>
  )
}

/** The field that asks why money is posted, which its owner is told. */
export function ToldReason(field: FieldOf) {
  return <TextField label="Reason" hint="The account holder sees it, and so does the audit log." {...field} />
}

/** What was typed into one of them; throws an ApiFailure for nothing. */
export function typedReason(text: string): string {
  return typedText(text, 'reason', 'Say why, for the record.')
}
