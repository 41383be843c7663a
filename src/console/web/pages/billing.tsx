import { useEffect, useState } from 'preact/hooks'
import type { Entry, Statement } from '../../api/contract/billing.ts'
import { useAction } from '../api/action.ts'
import { useAddressState } from '../api/address.ts'
import { addressOf, call } from '../api/client.ts'
import { ApiFailure } from '../api/failure.ts'
import { useCursorList, useQuery } from '../api/query.ts'
import { exactMoney } from '../format/money.ts'
import { typedAmount, typedText } from '../format/typed.ts'
import { type Option, Segments, TextField } from '../parts/field.tsx'
import { Form } from '../parts/form.tsx'
import { Money } from '../parts/money.tsx'
import { Empty, Notice } from '../parts/notice.tsx'
import { Answer, Page } from '../parts/page.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { useToast } from '../parts/toast.tsx'
import { When } from '../parts/when.tsx'
import { useCurrency, useSession } from '../session.tsx'
import { pageQuery } from './requests.tsx'

type Show = 'all' | 'usage' | 'other'

const SHOW: readonly Option<Show>[] = [
  { value: 'other', label: 'Credit' },
  { value: 'usage', label: 'Usage' },
  { value: 'all', label: 'Everything' },
]
const NOTHING = { checkout: '' }
const idOf = (entry: Entry) => `${entry.id} ${entry.kind}`

export function BillingPage() {
  const { deployment } = useSession()
  const [address] = useAddressState(NOTHING)
  const [show, setShow] = useState<Show>('all')
  const overview = useQuery('overview', signal => call('GET /api/overview', {}, signal))
  const statements = useQuery('statements', signal => call('GET /api/billing/statements', {}, signal))
  const entries = useCursorList(show, idOf, (cursor, signal) =>
    call('GET /api/billing/entries', { query: { show, ...pageQuery(cursor) } }, signal),
  )
  const reload = () => {
    overview.reload()
    entries.reload()
    statements.reload()
  }
  useRepeated(address.checkout === 'done', reload)
  return (
    <Page
      title="Billing"
      lead="What was put in, what was taken out, and what is left. Nothing is ever changed afterwards."
    >
      {address.checkout === 'done' ? (
        <Notice kind="good">Thank you. The credit appears here as soon as the payment is confirmed.</Notice>
      ) : null}
      {address.checkout === 'cancelled' ? (
        <Notice>The payment was cancelled; nothing was charged.</Notice>
      ) : null}
      <div class="columns">
        <Answer query={overview} what="the balance">
          {({ balance, available, held }) => (
            <dl class="card figure">
              <dt>Balance</dt>
              <dd data-testid="balance">
                <Money amount={balance} style="short" />
              </dd>
              <dd class="note">
                <Money amount={available} style="short" /> available, <Money amount={held} style="short" />{' '}
                held by running requests
              </dd>
            </dl>
          )}
        </Answer>
        <Redeem onDone={reload} />
        {deployment.checkout ? <TopUp /> : null}
      </div>
      <section class="stack" aria-labelledby="entries-title">
        <div class="card-head">
          <h2 id="entries-title">Entries</h2>
          <Segments label="Show" value={show} options={SHOW} onValue={setShow} />
        </div>
        <Answer query={entries} what="entries">
          {items =>
            items.length === 0 ? (
              <Empty title="No entries yet">Credit that you get and requests that you pay appear here.</Empty>
            ) : (
              <Table label="Entries" columns={ENTRY_COLUMNS} rows={items} keyOf={idOf} more={entries.more} />
            )
          }
        </Answer>
      </section>
      <section class="stack" aria-labelledby="statements-title">
        <h2 id="statements-title">Statements</h2>
        <Answer query={statements} what="statements">
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="No statements yet">
                Each month with a movement gets one, ready to be printed.
              </Empty>
            ) : (
              <Table label="Statements" columns={STATEMENT_COLUMNS} rows={items} keyOf={row => row.month} />
            )
          }
        </Answer>
      </section>
    </Page>
  )
}

const AGAIN_MS = 2000
const TIMES = 60

/** The payment is told of behind the page's back, most often within seconds. */
function useRepeated(isOn: boolean, reload: () => void): void {
  const [times, setTimes] = useState(0)
  useEffect(() => {
    if (!isOn || times === TIMES) return
    const timer = setTimeout(() => {
      setTimes(times + 1)
      reload()
    }, AGAIN_MS)
    return () => clearTimeout(timer)
  }, [isOn, times])
}

const ENTRY_KINDS: Readonly<Record<string, string>> = {
  usage: 'Request',
  usage_trueup: 'Request, corrected',
  usage_refund: 'Request, refunded',
  topup: 'Top-up',
  refund: 'Refund',
  chargeback: 'Chargeback',
  trial: 'Trial credit',
  promo: 'Redeemed code',
  goodwill: 'Goodwill',
  expiry: 'Credit expired',
  write_off: 'Written off',
  adjustment: 'Adjustment',
  debit: 'Debit',
}

export const ENTRY_COLUMNS: readonly Column<Entry>[] = [
  { label: 'What', kind: 'primary-cell', cell: entry => ENTRY_KINDS[entry.kind] ?? entry.kind },
  { label: 'Time', kind: 'nowrap', cell: entry => <When iso={entry.created_at} /> },
  {
    label: 'For',
    cell: entry => entry.reason ?? <Reference entry={entry} />,
  },
  { label: 'Amount', kind: 'number', cell: entry => <Money amount={entry.amount} style="signed" /> },
  { label: 'Balance', kind: 'number', cell: entry => <Money amount={entry.balance_after} /> },
]

function Reference({ entry }: { entry: Entry }) {
  if (entry.kind === 'usage' || entry.kind === 'usage_trueup') {
    return <a href={`/requests?receipt=${entry.id}`}>Receipt</a>
  }
  return entry.ref === null ? <span class="soft">-</span> : <code>{entry.ref}</code>
}

const STATEMENT_COLUMNS: readonly Column<Statement>[] = [
  { label: 'Month', kind: 'primary-cell', cell: row => row.month },
  { label: 'Opening', kind: 'number', cell: row => <Money amount={row.opening} /> },
  { label: 'In', kind: 'number', cell: row => <Money amount={row.credits} /> },
  { label: 'Out', kind: 'number', cell: row => <Money amount={row.debits} /> },
  { label: 'Closing', kind: 'number', cell: row => <Money amount={row.closing} /> },
  {
    label: '',
    kind: 'fit bare',
    cell: row => (
      <div class="row-actions">
        <a
          class="button small quiet"
          href={addressOf('GET /api/billing/statements/:month', { params: { month: row.month } })}
          target="_blank"
          rel="noreferrer"
        >
          Print<span class="unseen"> the statement of {row.month}</span>
        </a>
        <a
          class="button small quiet"
          href={addressOf('GET /api/billing/entries.csv', { query: { month: row.month } })}
          download
        >
          CSV<span class="unseen"> of {row.month}</span>
        </a>
      </div>
    ),
  },
]

const REFUSALS = {
  already_redeemed: 'You have redeemed this code already.',
  used_up: 'This code has been used as often as it can be.',
  expired: 'This code has expired.',
  unknown: 'There is no such code. Check it letter by letter.',
} as const

function Redeem({ onDone }: { onDone(): void }) {
  const currency = useCurrency()
  const toast = useToast()
  const [code, setCode] = useState('')
  const redeem = useAction(async () => {
    const typed = typedText(code, 'code', 'Type or paste a code.')
    const { result, amount } = await call('POST /api/billing/redeem', { body: { code: typed } })
    if (result !== 'redeemed') throw new ApiFailure(409, 'refused', REFUSALS[result], 'code')
    setCode('')
    toast(`${exactMoney(amount, currency)} is yours`)
    onDone()
  })
  return (
    <section class="card" aria-labelledby="redeem-title">
      <h2 id="redeem-title">Redeem a code</h2>
      <Form action={redeem} verb="Redeem">
        <TextField
          label="Code"
          autoComplete="off"
          spellcheck={false}
          value={code}
          onValue={setCode}
          error={redeem.errorOf('code')}
        />
      </Form>
    </section>
  )
}

function TopUp() {
  const currency = useCurrency()
  const [text, setText] = useState('10.00')
  const pay = useAction(async () => {
    const amount = typedAmount(text, 'amount', '10.00')
    const { url } = await call('POST /api/billing/checkout', { body: { amount } })
    location.assign(url)
  })
  return (
    <section class="card" aria-labelledby="topup-title">
      <h2 id="topup-title">Add credit by card</h2>
      <Form action={pay} verb="Go to payment">
        <TextField
          label={`Amount in ${currency}`}
          inputMode="decimal"
          value={text}
          onValue={setText}
          error={pay.errorOf('amount')}
        />
      </Form>
    </section>
  )
}
