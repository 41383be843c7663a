import { useEffect, useState } from 'preact/hooks'
import { ENTRY_NAMES } from '../../../api/contract/entry-names.ts'
import type { Receipt } from '../../../api/contract/requests.ts'
import { call } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { bucketName, isPerMillion } from '../../format/bucket-texts.ts'
import { errorReason } from '../../format/error-texts.ts'
import { exactMoney, isSameMoney } from '../../format/money.ts'
import { wholeNumber } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Fact } from '../../parts/facts.tsx'
import { Money } from '../../parts/money.tsx'
import { Badge } from '../../parts/notice.tsx'
import { Answer } from '../../parts/page.tsx'
import { type Column, moneyColumn, Table } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'
import { useCurrency } from '../../session.tsx'
import { Refund } from '../admin/money/refund.tsx'
import { EndState } from './end-state.tsx'

interface ReceiptProps {
  id: string
  /** Of any account, for those who see them. */
  isForAll?: boolean
  /** Told when something of it was given back: what the page shows of the account is old by then. */
  onRefunded?: (() => void) | undefined
}

/** What one request was and cost, and why. */
export function ReceiptDrawer({ onClose, ...props }: ReceiptProps & { onClose(): void }) {
  return (
    <Dialog title="Receipt" shape="drawer" onClose={onClose}>
      <ReceiptOf {...props} />
    </Dialog>
  )
}

const AGAIN_MS = 700
const TIMES = 20
/** The charge is in the books a moment before the rest is stored; until then it looks as if the process had died. */
const TIMES_EXPIRED = 5

/** A receipt is written when its request has ended, a moment after the last byte: until then it is asked for again. */
function ReceiptOf({ id, isForAll = false, onRefunded }: ReceiptProps) {
  const receipt = useQuery(id, signal =>
    call(`GET /api${isForAll ? '/admin' : ''}/requests/:id`, { params: { id } }, signal),
  )
  const [times, setTimes] = useState(0)
  const { data, failure, reload, busy } = receipt
  const isToCome =
    ((failure?.status === 404 || data?.end_state === 'running') && times < TIMES) ||
    (data?.end_state === 'expired' && times < TIMES_EXPIRED)
  useEffect(() => {
    if (!isToCome || busy) return
    const timer = setTimeout(() => {
      setTimes(count => count + 1)
      reload()
    }, AGAIN_MS)
    return () => clearTimeout(timer)
  }, [isToCome, busy, reload])
  const shown = failure !== undefined && isToCome ? { data, failure: undefined, busy, reload } : receipt
  return (
    <Answer query={shown} what="the receipt">
      {found => (
        <>
          <Whole receipt={found} isForAll={isForAll} />
          {isForAll ? (
            <Refund
              receipt={found}
              onDone={() => {
                reload()
                onRefunded?.()
              }}
            />
          ) : null}
        </>
      )}
    </Answer>
  )
}

function Whole({ receipt, isForAll }: FactsProps) {
  const currency = useCurrency()
  return (
    <>
      <dl class="figure">
        <dt>Charged</dt>
        <dd data-testid="charged">
          <Money amount={receipt.charged} />
        </dd>
        <dd class="note">
          {receipt.price_version === null
            ? 'no price was applied'
            : `by price version ${receipt.price_version}`}
          {receipt.service_tier === null ? '' : `, service tier ${receipt.service_tier}`}
          {receipt.exact_cost === null || isSameMoney(receipt.exact_cost, receipt.cost ?? '0')
            ? ''
            : `, ${exactMoney(receipt.exact_cost, currency)} before rounding`}
        </dd>
      </dl>
      <Lines receipt={receipt} />
      <Facts receipt={receipt} isForAll={isForAll} />
      {receipt.losses.length === 0 ? null : (
        <section class="stack tight">
          <h3>Left out</h3>
          <p class="soft">Fields of the request that this model's upstream cannot say.</p>
          <div class="tags">
            {receipt.losses.map(loss => (
              <Badge key={loss} kind="plain">
                {loss}
              </Badge>
            ))}
          </div>
        </section>
      )}
      <Charges receipt={receipt} />
    </>
  )
}

interface FactsProps {
  receipt: Receipt
  /** Whose it is, for those who see every account. */
  isForAll: boolean
}

function Facts({ receipt, isForAll }: FactsProps) {
  return (
    <dl class="facts">
      <Fact name="End">
        <EndState state={receipt.end_state} />
      </Fact>
      <Fact name="Status">
        {receipt.status === null ? null : `${receipt.status} ${receipt.error_code ?? ''}`}
      </Fact>
      <Fact name="Why">{errorReason(receipt.error_code)}</Fact>
      <Fact name="Account">
        {isForAll ? (
          <>
            <a class="alone" href={`/admin/accounts/${receipt.account_id}`}>
              {receipt.account_email ?? `account ${receipt.account_id}`}
            </a>{' '}
            {receipt.account_email === null ? null : <span class="soft">account {receipt.account_id}</span>}
          </>
        ) : null}
      </Fact>
      <Fact name="Model">
        {isForAll && receipt.model !== null ? (
          <a class="alone" href={`/admin/models/${encodeURIComponent(receipt.model)}`}>
            {receipt.model}
          </a>
        ) : (
          (receipt.model ?? 'unknown')
        )}
      </Fact>
      <Fact name="Channel">{receipt.channel}</Fact>
      <Fact name="Key">{receipt.key_name ?? 'unknown'}</Fact>
      <Fact name="Surface">
        {receipt.surface && `${receipt.surface}${receipt.streamed ? ', streamed' : ''}`}
      </Fact>
      <Fact name="Started">{receipt.started_at && <When iso={receipt.started_at} />}</Fact>
      <Fact name="First byte">{receipt.first_byte_ms === null ? null : duration(receipt.first_byte_ms)}</Fact>
      <Fact name="Took">{receipt.total_ms === null ? null : duration(receipt.total_ms)}</Fact>
      <Fact name="Attempts">{receipt.attempts}</Fact>
      <Fact name="Tokens are">{receipt.usage_source && USAGE_SOURCES[receipt.usage_source]}</Fact>
      <Fact name="Request id">
        <span class="row">
          <code>{receipt.request_id}</code>
          <CopyButton text={receipt.request_id} what="the request id" />
        </span>
      </Fact>
    </dl>
  )
}

const USAGE_SOURCES = {
  reported: 'as the upstream reported them',
  estimated: 'counted here: the upstream reported none',
  missing: 'unknown',
} as const

type Line = Pick<Receipt['lines'][number], 'bucket' | 'quantity'> & Partial<Receipt['lines'][number]>

/** Quantity times rate is amount, line by line; without a charge, the tokens alone. */
function Lines({ receipt: { lines, tokens } }: { receipt: Receipt }) {
  const counts = Object.entries(tokens ?? {}).filter(([, count]) => count > 0)
  const uncharged = counts.map(([bucket, count]) => ({ bucket, quantity: String(count) }))
  const rows: readonly Line[] = lines.length > 0 ? lines : uncharged
  return rows.length === 0 ? null : (
    <Table
      label="What it is made of"
      kind="compact"
      columns={LINE_COLUMNS}
      rows={rows}
      keyOf={line => line.bucket}
    />
  )
}

const NONE = <span class="soft">none</span>

const LINE_COLUMNS: readonly Column<Line>[] = [
  { label: 'What', cell: line => bucketName(line.bucket) },
  { label: 'Quantity', kind: 'number', cell: line => wholeNumber(Number(line.quantity)) },
  {
    label: 'Rate',
    kind: 'number',
    cell: ({ rate, bucket }) =>
      rate === undefined ? (
        NONE
      ) : (
        <>
          <Money amount={rate} />
          {isPerMillion(bucket) ? ' /M' : ''}
        </>
      ),
  },
  moneyColumn('Amount', ({ amount }) => amount ?? null),
]

/** Only where there is more to tell than one charge. */
function Charges({ receipt }: { receipt: Receipt }) {
  if (receipt.charges.length < 2) return null
  return (
    <section class="stack tight">
      <h3>Charges</h3>
      <ul class="stack tight">
        {receipt.charges.map(charge => (
          <li key={`${charge.kind} ${charge.at}`} class="row">
            <span>{ENTRY_NAMES[charge.kind]}</span> <Money amount={charge.amount} />
            <span class="soft">
              <When iso={charge.at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
