import { isDay } from '@/clock/day.ts'
import { type Arguments, UsageError } from './command.ts'

const DAY_MS = 86_400_000

/** Of a duration as in `30d`. */
const UNIT_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
  y: 365 * DAY_MS,
}

const YEAR_10_000 = Date.UTC(10_000, 0)

/** ISO 8601: a day, or a day and a time with its offset. A time without an offset would mean another moment elsewhere. */
const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** What an option that names a moment takes, for its help. */
export const EXPIRES = 'an ISO time (2027-01-31, 2027-01-31T12:00:00Z) or a duration: 90m, 12h, 30d, 8w, 1y'

/** When what is made is to end, by `--expires` or an option like it; undefined: never. */
export function readEnd({ texts }: Arguments, now: number, option = 'expires'): Date | undefined {
  const text = texts[option]
  if (text === undefined) return undefined
  const date = readExpiry(text, now)
  if (date === undefined) {
    throw new UsageError(
      `--${option} is "${text}" but must be an ISO time (2027-01-31T12:00:00Z) or a duration (30d)`,
    )
  }
  if (date.getTime() <= now) throw new UsageError(`--${option} is "${text}" but must be in the future`)
  return date
}

/** The moment that a text names: an ISO time, or a duration from `now` (ms) on. Undefined if it names none. */
export function readExpiry(text: string, now: number): Date | undefined {
  const [, amount = '', unit = ''] = /^(\d{1,6})([mhdwy])$/.exec(text) ?? []
  const unitMs = UNIT_MS[unit]
  const date = unitMs === undefined ? readIso(text) : new Date(now + Number(amount) * unitMs)
  // Nor one that cannot be written with four digits for its year.
  return date === undefined || !(date.getTime() < YEAR_10_000) ? undefined : date
}

function readIso(text: string): Date | undefined {
  return ISO.test(text) && isDay(text.slice(0, 10)) ? new Date(text) : undefined
}
