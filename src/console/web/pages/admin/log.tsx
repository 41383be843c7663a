import { Fragment } from 'preact'
import type { Act } from '../../../api/contract/admin-ledger.ts'
import { useAddressState, useSettled } from '../../api/address.ts'
import { call } from '../../api/client.ts'
import { fieldsOf } from '../../api/form-state.ts'
import { useCursorList } from '../../api/query.ts'
import { serverNow } from '../../api/server-time.ts'
import { TextField } from '../../parts/field.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import type { Column } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'
import { timeOf } from '../../stream/line-filter.ts'
import { TimeFields } from '../requests/day-fields.tsx'

const NO_FILTER = { action: '', target: '', by: '', since: '', first: '', last: '' }
const idOf = (act: Act) => act.id

/** What administrators did, each act with before and after. */
export function LogPage() {
  const { state, change } = useAddressState(NO_FILTER)
  const field = fieldsOf(state, change)
  const { action, target, by, ...time } = useSettled(state)
  const part = { action: action.trim(), target: target.trim(), by: by.trim() }
  const key = timeOf(time, 0) && JSON.stringify([part, time])
  const acts = useCursorList(key, idOf, (cursor, signal) =>
    call('GET /api/admin/log', { query: { ...part, ...timeOf(time, serverNow()), cursor } }, signal),
  )
  return (
    <Page
      title="Audit log"
      lead="Every administrative act: who did what to what, and how it was before and after."
    >
      <search class="filters" aria-label="Filter the log">
        <TextField
          label="Act"
          type="search"
          placeholder="account.suspend"
          spellcheck={false}
          {...field('action')}
        />
        <TextField
          label="Done to"
          type="search"
          placeholder="account 17"
          spellcheck={false}
          {...field('target')}
        />
        <TextField
          label="By"
          type="search"
          placeholder="ada@example.com"
          spellcheck={false}
          {...field('by')}
        />
        <TimeFields {...state} change={change} />
      </search>
      {timeOf(state, 0) === undefined ? null : (
        <ListTable
          label="Administrative acts"
          list={acts}
          columns={COLUMNS}
          empty={
            Object.values(state).every(text => text === '') ? (
              <Empty title="Nothing is recorded">Acts of administrators appear here and stay for good.</Empty>
            ) : (
              <Empty title="No act matches">
                Search for a part of its name, of what it was done to, or of who did it, or widen the time.
              </Empty>
            )
          }
        />
      )}
    </Page>
  )
}

const COLUMNS: readonly Column<Act>[] = [
  { label: 'Act', kind: 'primary-cell', cell: act => breakable(act.action) },
  { label: 'Done to', cell: act => act.target },
  {
    label: 'By',
    cell: ({ email, ip }) => (
      <div>
        {email === '' ? <span class="soft">the command line</span> : breakable(email)} <br />
        <small class="soft">{ip === null ? 'here' : `from ${ip}`}</small>
      </div>
    ),
  },
  { label: 'Time', kind: 'nowrap', cell: act => <When iso={act.at} /> },
  {
    label: 'Change',
    cell: act => (
      <details>
        <summary class="word">
          Show<span class="unseen"> the change of act {act.id}</span>
        </summary>
        <dl class="stack tight">
          <dt class="soft">Before</dt>
          <dd>
            <code class="json">{jsonText(act.before)}</code>
          </dd>
          <dt class="soft">After</dt>
          <dd>
            <code class="json">{jsonText(act.after)}</code>
          </dd>
        </dl>
      </details>
    ),
  },
]

/** A name that may break after its dots, an address also after its @. */
function breakable(name: string) {
  return name.split(/(?<=[.@])/).map((part, index) => (
    <Fragment key={`${index} ${part}`}>
      {part}
      <wbr />
    </Fragment>
  ))
}

function jsonText(value: unknown): string {
  return value === null || value === undefined ? 'nothing' : JSON.stringify(value, null, 2)
}
