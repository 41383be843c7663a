import { daysBefore, readDays, typedDay } from '../../format/time.ts'
import { TextField } from '../../parts/field.tsx'

interface Days {
  first: string
  last: string
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
  const today = new Date()
  return { first: typedDay(daysBefore(today, 6)), last: typedDay(today) }
}
