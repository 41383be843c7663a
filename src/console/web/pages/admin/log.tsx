import type { Act } from '../../../api/contract/admin-ledger.ts'
import { useAddressState, useSettled } from '../../api/address.ts'
import { call } from '../../api/client.ts'
import { fieldsOf } from '../../api/form-state.ts'
import { useCursorList } from '../../api/query.ts'
import { TextField } from '../../parts/field.tsx'
import { ListTable } from '../../parts/list-table.tsx'
import { Empty } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import type { Column } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'

const NO_FILTER = { action: '', target: '' }
const idOf = (act: Act) => act.id

/** What administrators did, each act with before and after. */
export function LogPage() {
  const [state, change] = useAddressState(NO_FILTER)
  const field = fieldsOf(state, change)
  const action = useSettled(state.action.trim())
  const target = useSettled(state.target.trim())
  const acts = useCursorList(`${action} ${target}`, idOf, (cursor, signal) =>
    call('GET /api/admin/log', { query: { cursor, action, target } }, signal),
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
      </search>
      <ListTable
        label="Administrative acts"
        list={acts}
        columns={COLUMNS}
        empty={
          action === '' && target === '' ? (
            <Empty title="Nothing is recorded">Acts of administrators appear here and stay for good.</Empty>
          ) : (
            <Empty title="No act matches">Search for a part of its name, or of what it was done to.</Empty>
          )
        }
      />
    </Page>
  )
}

const COLUMNS: readonly Column<Act>[] = [
  { label: 'Act', kind: 'primary-cell', cell: act => actName(act.action) },
  { label: 'Done to', cell: act => act.target },
  { label: 'By', cell: act => act.email || <span class="soft">the command line</span> },
  { label: 'From', kind: 'nowrap', cell: act => act.ip ?? <span class="soft">here</span> },
  { label: 'Time', kind: 'nowrap', cell: act => <When iso={act.at} /> },
  {
    label: 'Change',
    cell: act => (
      <details>
        <summary>
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

/** A name that may break after its dot. */
function actName(action: string) {
  const [subject, verb] = action.split('.')
  return (
    <>
      {subject}.<wbr />
      {verb}
    </>
  )
}

function jsonText(value: unknown): string {
  return value === null || value === undefined ? 'nothing' : JSON.stringify(value, null, 2)
}
