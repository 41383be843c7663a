import type { ComponentChildren } from 'preact'
import type { Key } from '../../../api/contract/keys.ts'
import type { CursorList } from '../../api/query.ts'
import { hasLimits, limitsInWords } from '../../format/limit-texts.ts'
import { counted } from '../../format/number.ts'
import { pastedKey } from '../../format/pasted.ts'
import { Button } from '../../parts/button.tsx'
import { choices, type Option, SelectField, TextField } from '../../parts/field.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Money } from '../../parts/money.tsx'
import { Badge, Empty } from '../../parts/notice.tsx'
import { actionColumn, type Column } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'

/** What may be done to a key. */
interface KeyActs {
  /** What the button says that changes it. */
  change: string
  onChange(key: Key): void
  onRevoke(key: Key): void
}

/** Which keys are to be listed, as the address has it. */
interface KeyFilter {
  /** A part of the name, or how the key begins. */
  search: string
  status: string
}

/** The filter as `GET /api/keys` takes it: without spaces around the search, and a status it does not know is none. */
export function keyQuery({ search, status }: KeyFilter) {
  return { search: search.trim(), status: STATUS_CHOICES.find(({ value }) => value === status)?.value }
}

const STATUS_CHOICES: readonly Option<'active' | 'expired' | 'revoked'>[] = [
  { value: 'active', label: 'Not revoked' },
  { value: 'expired', label: 'Expired' },
  { value: 'revoked', label: 'Revoked' },
]

interface KeyTableProps {
  list: CursorList<Key>
  /** The address of a log, to which the id of a key is added. */
  requestsAt: string
  filter: KeyFilter
  onFilter(changes: Partial<KeyFilter>): void
  /** Undefined: nothing can be done to them. */
  acts: KeyActs | undefined
  /** What stands where there are none; undefined: none was found. */
  empty: ComponentChildren | undefined
}

/** Keys, which can be searched. */
export function KeyTable({ list, requestsAt, filter, onFilter, acts, empty }: KeyTableProps) {
  return (
    <>
      <search class="filters" aria-label="Filter keys">
        <TextField
          label="Search"
          type="search"
          placeholder="Name, or sk-…"
          spellcheck={false}
          value={filter.search}
          onValue={text => onFilter({ search: pastedKey(text) })}
        />
        <SelectField
          label="Status"
          options={choices(STATUS_CHOICES, filter.status)}
          value={filter.status}
          onValue={status => onFilter({ status })}
        />
      </search>
      <ListTable
        label="Keys"
        list={list}
        columns={columnsOf(requestsAt, acts)}
        empty={
          empty ?? (
            <Empty title="No key matches">
              Search for a part of the name or for the beginning of the key, and choose any status.
            </Empty>
          )
        }
      />
    </>
  )
}

function columnsOf(requestsAt: string, acts: KeyActs | undefined): Column<Key>[] {
  return [
    {
      label: 'Name',
      kind: 'primary-cell',
      cell: key => (
        <>
          {key.name || 'Unnamed'} <br />
          <KeyPrefix of={key} />
          {key.expires_at === null ? null : (
            <small class="narrow soft">
              {key.status === 'expired' ? 'expired' : 'expires'} <When iso={key.expires_at} />
            </small>
          )}
        </>
      ),
    },
    { label: 'Status', kind: 'nowrap', cell: key => STATUSES[key.status] },
    {
      label: 'May use',
      cell: key => <Reach of={key} />,
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
      cell: key =>
        key.last_used_at === null ? (
          <When iso={null} />
        ) : (
          <a class="alone" href={`${requestsAt}${key.id}`}>
            <When iso={key.last_used_at} style="since" />
            <span class="unseen">, requests of {key.label}</span>
          </a>
        ),
    },
    {
      label: 'Expires',
      kind: 'nowrap wide',
      cell: key => <When iso={key.expires_at} />,
    },
    ...(acts === undefined ? [] : [actionColumn<Key>(key => buttonsOf(key, acts))]),
  ]
}

/** What a key is narrowed to, in a word or two; more of it unfolds. */
function Reach({ of: { label, models, allow_ips: addresses, limits } }: { of: Key }) {
  const isShort = models === null || models.length <= 2
  const named = models === null ? 'All models' : isShort ? models.join(', ') : counted(models.length, 'model')
  if (isShort && addresses === null && !hasLimits(limits)) {
    return <span class={models === null ? 'soft' : undefined}>{named}</span>
  }
  return (
    <details>
      <summary>
        {named}
        {addresses === null ? null : `, ${counted(addresses.length, 'address', 'addresses')}`}
        {hasLimits(limits) ? ', limits' : null}
        <span class="unseen"> of {label}</span>
      </summary>
      <div class="stack tight">
        {isShort ? null : <div>{models.join(', ')}</div>}
        {addresses === null ? null : <div>From {addresses.join(', ')}</div>}
        {hasLimits(limits) ? <div>{limitsInWords(limits)}</div> : null}
      </div>
    </details>
  )
}

/** How it begins: what is compared with a key that somebody found. */
export function KeyPrefix({ of: { prefix } }: { of: Key }) {
  return <code class="soft">{prefix}…</code>
}

function buttonsOf(key: Key, { change, onChange, onRevoke }: KeyActs) {
  return key.status === 'revoked' ? null : (
    <>
      <Button small kind="quiet" onClick={() => onChange(key)}>
        {change}
        <span class="unseen"> {key.label}</span>
      </Button>
      <Button small kind="danger" onClick={() => onRevoke(key)}>
        Revoke<span class="unseen"> {key.label}</span>
      </Button>
    </>
  )
}

const CAP_PERIODS = { day: 'a day', week: 'a week', month: 'a month', total: 'in all' } as const

/** Whether a key works. */
const STATUSES: Record<Key['status'], ComponentChildren> = {
  active: <Badge kind="good">Active</Badge>,
  suspended: <Badge kind="warn">Account suspended</Badge>,
  expired: <Badge kind="warn">Expired</Badge>,
  revoked: <Badge kind="bad">Revoked</Badge>,
}
