import { fieldsOf } from '../api/form-state.ts'
import { asOptions, type Option, SelectField, TextField } from '../parts/field.tsx'
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
  const field = fieldsOf(filter, change)
  return (
    <search class="filters" aria-label="Filter requests">
      <TextField
        label="Request id"
        placeholder="First characters"
        spellcheck={false}
        value={filter.id}
        onValue={id => change({ id: id.trim().replace(/[^\da-fA-F-]/g, '') })}
      />
      <SelectField label="Model" options={withAny(models, filter.model)} {...field('model')} />
      {isForAll ? (
        <>
          <TextField
            label="Account"
            placeholder="Number"
            inputMode="numeric"
            value={filter.account}
            onValue={account => change({ account: account.replace(/\D/g, '') })}
          />
          <SelectField label="Channel" options={withAny(channels, filter.channel)} {...field('channel')} />
        </>
      ) : (
        <SelectField label="Key" options={[ANY, ...keys]} {...field('key')} />
      )}
      <SelectField label="Status" options={STATUSES} {...field('status')} />
      <SelectField label="End" options={[ANY, ...ENDS]} {...field('end')} />
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

const ANY: Option<string> = { value: '', label: 'Any' }

const STATUSES = [ANY, ...asOptions(['2xx', '4xx', '400', '401', '402', '429', '499', '5xx', '502', '503'])]

const TIMES: readonly Option<string>[] = [
  ANY,
  ...Object.entries(SPANS).map(([value, { name }]) => ({ value, label: name })),
  { value: DAYS, label: 'Dates' },
]

/** The names to choose from, and the chosen one even if it is no more among them. */
function withAny(names: readonly string[], chosen: string): Option<string>[] {
  const all = chosen === '' || names.includes(chosen) ? names : [chosen, ...names]
  return [ANY, ...asOptions(all)]
}
