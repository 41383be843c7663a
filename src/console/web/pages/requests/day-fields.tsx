import { serverNow } from '../../api/server-time.ts'
import { daysBefore, readDays, typedDay } from '../../format/time.ts'
import { choices, type Option, SelectField, TextField } from '../../parts/field.tsx'
import { DAYS, SPANS } from '../../stream/line-filter.ts'
import type { LogTime } from './log-address.ts'

interface Days {
  first: string
  last: string
}

const TIMES: readonly Option<string>[] = [
  ...Object.entries(SPANS).map(([value, { name }]) => ({ value, label: name })),
  { value: DAYS, label: 'Dates' },
]

/** Of which time: how far back, or from which day to which. */
export function TimeFields({
  since,
  change,
  ...days
}: LogTime & { change(changes: Partial<LogTime>): void }) {
  return (
    <>
      <SelectField
        label="Time"
        value={since}
        options={choices(TIMES, since)}
        onValue={chosen =>
          change({ since: chosen, ...(chosen === DAYS ? lastWeek() : { first: '', last: '' }) })
        }
      />
      {since === DAYS ? <DayFields {...days} change={change} /> : null}
    </>
  )
}

/** From which day to which. */
export function DayFields({ first, last, change }: Days & { change(days: Partial<Days>): void }) {
  return (
    <>
      <TextField
        label="First day"
        type="date"
        value={first}
        onValue={day => change({ first: day })}
        error={readDays(first, last) === undefined ? 'A day, and none after the last.' : undefined}
      />
      <TextField label="Last day" type="date" value={last} onValue={day => change({ last: day })} />
    </>
  )
}

/** What one begins with: the last seven days. */
export function lastWeek(): Days {
  const today = new Date(serverNow())
  return { first: typedDay(daysBefore(today, 6)), last: typedDay(today) }
}
