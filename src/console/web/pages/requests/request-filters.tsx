import { useRef, useState } from 'preact/hooks'
import type { Key } from '../../../api/contract/keys.ts'
import { useSettled } from '../../api/address.ts'
import { call } from '../../api/client.ts'
import { fieldsOf } from '../../api/form-state.ts'
import { useQuery } from '../../api/query.ts'
import { pastedKey, pastedRequestId } from '../../format/pasted.ts'
import { asOptions, choices, SelectField, TextField } from '../../parts/field.tsx'
import { FindField, noneCalled } from '../../parts/find-field.tsx'
import type { LineFilter } from '../../stream/line-filter.ts'
import { OneModel } from '../models/model-choice.tsx'
import { TimeFields } from './day-fields.tsx'
import { ENDS } from './end-state.tsx'

interface RequestFiltersProps {
  filter: LineFilter
  change(changes: Partial<LineFilter>): void
  /** For those who see every account. */
  isForAll: boolean
  /** Once what had it is gone, which is the button that clears them. */
  takesFocus: boolean
}

/** Where a log begins. */
export const LOG_ID = 'log'

/** What is to be in the log. */
export function RequestFilters({ filter, change, isForAll, takesFocus }: RequestFiltersProps) {
  const models = useQuery('models', signal => call(`GET /api${isForAll ? '/admin' : ''}/models`, {}, signal))
  const field = fieldsOf(filter, change)
  const Whose = isForAll ? AccountAndChannel : OwnKeyField
  return (
    <search id={LOG_ID} class="filters" aria-label="Filter requests">
      <TextField
        label="Request id"
        placeholder="First characters"
        autoFocus={takesFocus}
        spellcheck={false}
        value={filter.id}
        onValue={id => change({ id: pastedRequestId(id) })}
      />
      <OneModel
        label="Model"
        none="Any"
        models={models.data?.items.map(({ id }) => id) ?? []}
        {...field('model')}
      />
      <Whose filter={filter} change={change} />
      <SelectField label="Status" options={choices(STATUSES, filter.status)} {...field('status')} />
      <SelectField label="End" options={choices(ENDS, filter.end)} {...field('end')} />
      <TimeFields {...filter} change={change} />
    </search>
  )
}

type WhoseProps = Pick<RequestFiltersProps, 'filter' | 'change'>

function AccountAndChannel({ filter, change }: WhoseProps) {
  const channels = useQuery('channels', signal => call('GET /api/admin/channels', {}, signal))
  return (
    <>
      <TextField
        label="Account"
        placeholder="Number"
        inputMode="numeric"
        value={filter.account}
        onValue={account => change({ account: account.replace(/\D/g, '') })}
      />
      <SelectField
        label="Channel"
        options={choices(asOptions(channels.data?.items.map(({ name }) => name) ?? []), filter.channel)}
        {...fieldsOf(filter, change)('channel')}
      />
      {/* Nobody chooses from the keys of all accounts: a chart leads to the requests of one. */}
      {filter.key === '' ? null : <KeyField filter={filter} change={change} keys={[]} />}
    </>
  )
}

/** Of more keys than come at once those that are searched for; the one that is chosen stays, by its name. */
function OwnKeyField({ filter, change }: WhoseProps) {
  const [wanted, setWanted] = useState('')
  const search = useSettled(wanted.trim())
  const query = { limit: 200, search }
  const keys = useQuery(`keys ${search}`, signal => call('GET /api/keys', { query }, signal))
  const isSearched = useRef(false)
  isSearched.current ||= Boolean(keys.data?.next)
  const found = keys.data?.items ?? []
  const last = useRef<Key>(undefined)
  const chosen = [...found, last.current].find(key => String(key?.id) === filter.key)
  last.current = chosen
  return (
    <>
      {isSearched.current ? (
        <FindField
          what="key"
          found={keys.data?.items.length}
          hasMore={Boolean(keys.data?.next)}
          placeholder="Name, or sk-…"
          value={wanted}
          onValue={text => setWanted(pastedKey(text))}
        />
      ) : null}
      <KeyField
        filter={filter}
        change={change}
        keys={chosen === undefined || found.includes(chosen) ? found : [chosen, ...found]}
        hint={search !== '' && keys.data?.items.length === 0 ? noneCalled('key') : undefined}
      />
    </>
  )
}

/** One that is chosen and not among those that are known has but its number. */
function KeyField({
  filter,
  change,
  keys,
  hint,
}: WhoseProps & { keys: readonly Key[]; hint?: string | undefined }) {
  const options = choices(
    keys.map(({ id, label }) => ({ value: String(id), label })),
    filter.key,
  )
  return <SelectField label="Key" hint={hint} options={options} {...fieldsOf(filter, change)('key')} />
}

const STATUSES = asOptions(['2xx', '4xx', '400', '401', '402', '429', '499', '5xx', '502', '503'])
