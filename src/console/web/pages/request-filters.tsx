import { type Option, SelectField, TextField } from '../parts/field.tsx'
import { DAYS, type LineFilter, SPANS } from '../stream/line-filter.ts'
import { DayFields, lastWeek } from './day-fields.tsx'
import { ENDS } from './end-state.tsx'

/** What there is to choose from. */
export interface FilterChoices {
  models: readonly string[]
  keys: readonly Option<string>[]
  /** Conditions of those who see every account. */
  isForAll?: boolean
  channels?: readonly string[]
}

/** What is to be in the log. */
export function RequestFilters({
  filter,
  change,
  models,
  keys,
  channels = [],
  isForAll = false,
}: FilterChoices & { filter: LineFilter; change(changes: Partial<LineFilter>): void }) {
  return (
    <search class="filters" aria-label="Filter requests">
      <TextField
        label="Request id"
        placeholder="First characters"
        spellcheck={false}
        value={filter.id}
        onValue={id => change({ id: id.trim().replace(/[^\da-fA-F-]/g, '') })}
      />
      <SelectField
        label="Model"
        value={filter.model}
        options={withAny(models, filter.model)}
        onValue={model => change({ model })}
      />
      {isForAll ? (
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
            value={filter.channel}
            options={withAny(channels, filter.channel)}
            onValue={channel => change({ channel })}
          />
        </>
      ) : (
        <SelectField
          label="Key"
          value={filter.key}
          options={[{ value: '', label: 'Any' }, ...keys]}
          onValue={key => change({ key })}
        />
      )}
      <SelectField
        label="Status"
        value={filter.status}
        options={STATUSES}
        onValue={status => change({ status })}
      />
      <SelectField
        label="End"
        value={filter.end}
        options={[{ value: '', label: 'Any' }, ...ENDS]}
        onValue={end => change({ end })}
      />
      <SelectField
        label="Time"
        value={filter.since}
        options={TIMES}
        onValue={since => change({ since, ...(since === DAYS ? lastWeek() : { first: '', last: '' }) })}
      />
      {filter.since === DAYS ? <DayFields {...filter} change={change} /> : null}
    </search>
  )
}

const STATUSES: readonly Option<string>[] = [
  { value: '', label: 'Any' },
  ...['2xx', '4xx', '400', '401', '402', '429', '499', '5xx', '502', '503'].map(value => ({
    value,
    label: value,
  })),
]

const TIMES: readonly Option<string>[] = [
  { value: '', label: 'Any' },
  ...Object.entries(SPANS).map(([value, { name }]) => ({ value, label: name })),
  { value: DAYS, label: 'Dates' },
]

/** The names to choose from, and the chosen one even if it is no more among them. */
function withAny(names: readonly string[], chosen: string): Option<string>[] {
  const all = chosen === '' || names.includes(chosen) ? names : [chosen, ...names]
  return [{ value: '', label: 'Any' }, ...all.map(value => ({ value, label: value }))]
}
