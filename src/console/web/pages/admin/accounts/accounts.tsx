import { useState } from 'preact/hooks'
import type { Account } from '../../../../api/contract/admin-accounts.ts'
import type { ConsoleOutput } from '../../../../api/contract/api.ts'
import { useAddressState, useSettled } from '../../../api/address.ts'
import { call } from '../../../api/client.ts'
import { fieldsOf, useForm } from '../../../api/form-state.ts'
import { useCursorList } from '../../../api/query.ts'
import { pastedKey } from '../../../format/pasted.ts'
import { optionalAmount } from '../../../format/typed.ts'
import { AddButton, Button } from '../../../parts/button.tsx'
import { CheckField, type Option, SelectField, TextField } from '../../../parts/field.tsx'
import { FormDialog } from '../../../parts/form.tsx'
import { ListTable } from '../../../parts/list-table.tsx'
import { Money } from '../../../parts/money.tsx'
import { Badge, Empty } from '../../../parts/notice.tsx'
import { Page } from '../../../parts/page.tsx'
import type { Column } from '../../../parts/table.tsx'
import { When } from '../../../parts/when.tsx'
import { useMayAdminister, useSession } from '../../../session.tsx'
import { OwnPassword } from '../../gate/fields.tsx'
import { LinkMade } from '../users/link-made.tsx'
import { ManyAccounts } from './many-accounts.tsx'

type Status = Account['status']

const STATUSES: readonly Option<string>[] = [
  { value: '', label: 'Any' },
  { value: 'active', label: 'Active' },
  { value: 'suspended', label: 'Suspended' },
  { value: 'closed', label: 'Closed' },
  { value: 'asking', label: 'Asks to be closed' },
  { value: 'debt', label: 'Balance below zero' },
]
const NO_FILTER = { search: '', status: '', new: '' }
const idOf = (account: Account) => account.id

/** The list of accounts, and the form for a new one. */
export function AccountsPage() {
  const { state, change, open } = useAddressState(NO_FILTER)
  const field = fieldsOf(state, change)
  const mayAdminister = useMayAdminister()
  const search = useSettled(state.search.trim())
  const status = statusOf(state.status)
  const part = { search, status, asks_to_close: state.status === 'asking', in_debt: state.status === 'debt' }
  const accounts = useCursorList(`${search} ${state.status}`, idOf, (cursor, signal) =>
    call('GET /api/admin/accounts', { query: { ...part, cursor } }, signal),
  )
  const create = mayAdminister ? (
    <>
      <Button onClick={() => open({ new: 'many' })}>Several accounts</Button>
      <AddButton onClick={() => open({ new: 'yes' })}>New account</AddButton>
    </>
  ) : undefined
  const Create = state.new === 'many' ? ManyAccounts : CreateAccount
  return (
    <Page
      title="Accounts"
      lead="Who pays: each account has one balance, its keys and its limits."
      actions={create}
    >
      <search class="filters" aria-label="Filter accounts">
        <TextField
          label="Search"
          type="search"
          placeholder="Email, number or sk-…"
          spellcheck={false}
          value={state.search}
          onValue={text => change({ search: pastedKey(text) })}
        />
        <SelectField label="Status" options={STATUSES} {...field('status')} />
      </search>
      <ListTable
        label="Accounts"
        list={accounts}
        columns={columnsOf(search)}
        empty={
          <Empty title="No account matches">
            Search for a part of the email, for the number or for a key, or make a new account.
          </Empty>
        }
      />
      {state.new === '' || !mayAdminister ? null : (
        <Create onClose={() => change({ new: '' })} onCreated={accounts.reload} />
      )}
    </Page>
  )
}

function statusOf(text: string): Status | undefined {
  return text === 'active' || text === 'suspended' || text === 'closed' ? text : undefined
}

/** How an account stands, in badges. */
export function AccountStatus({ account }: { account: Account }) {
  const kind = { active: 'good', suspended: 'bad', closed: '' } as const
  return (
    <span class="tags">
      <Badge kind={kind[account.status]}>
        {STATUSES.find(({ value }) => value === account.status)?.label}
      </Badge>
      {account.on_trial ? <Badge kind="plain">Trial</Badge> : null}
      {account.close_requested_at === null ? null : <Badge kind="warn">Asks to be closed</Badge>}
    </span>
  )
}

/** Who was found by a key is looked at for that key. */
function columnsOf(search: string): Column<Account>[] {
  const key = search.startsWith('sk-') ? `?keys=${encodeURIComponent(search)}` : ''
  return [
    {
      label: 'Email',
      kind: 'primary-cell',
      cell: account => <a href={`/admin/accounts/${account.id}${key}`}>{account.email}</a>,
    },
    { label: 'Number', cell: account => account.id },
    { label: 'Status', kind: 'nowrap', cell: account => <AccountStatus account={account} /> },
    { label: 'Balance', kind: 'number', cell: account => <Money amount={account.balance} style="short" /> },
    {
      label: 'Available',
      kind: 'number',
      cell: account => <Money amount={account.available} style="short" />,
    },
    { label: 'Made', kind: 'nowrap', cell: account => <When iso={account.created_at} style="day" /> },
  ]
}

function CreateAccount({ onClose, onCreated }: { onClose(): void; onCreated(): void }) {
  const { deployment } = useSession()
  const [isInvited, setInvited] = useState(true)
  const [made, setMade] = useState<ConsoleOutput<'POST /api/admin/accounts'>>()
  const create = useForm({ email: '', credit: '', password: '' }, async texts => {
    const body = {
      email: texts.email.trim(),
      credit: optionalAmount(texts.credit, 'credit'),
      ...(isInvited ? { invite: true, password: texts.password } : {}),
    }
    setMade(await call('POST /api/admin/accounts', { body }))
    onCreated()
  })
  const { field } = create
  if (made !== undefined) {
    const { account } = made
    return (
      <LinkMade
        title="The account is made"
        link={made}
        onClose={onClose}
        note={
          <p>
            Account {account.id} belongs to {account.email}.{' '}
            {/* It would lead away from a link that is shown once. */}
            {made.url === null ? <a href={`/admin/accounts/${account.id}`}>Open it</a> : null}
          </p>
        }
      />
    )
  }
  return (
    <FormDialog title="New account" verb="Create account" action={create} onClose={onClose}>
      <TextField label="Email" type="email" autoFocus autoComplete="off" {...field('email')} />
      <TextField
        label={`Credit in ${deployment.currency}`}
        optional
        inputMode="decimal"
        placeholder={deployment.trial_credit}
        hint={`Left empty: the trial credit of ${deployment.trial_credit}.`}
        {...field('credit')}
      />
      <CheckField
        label="Make a link with which they choose a password"
        value={isInvited}
        onValue={setInvited}
      />
      {isInvited ? <OwnPassword {...field('password')} /> : null}
    </FormDialog>
  )
}
