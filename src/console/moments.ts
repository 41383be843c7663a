import { isDay } from '@/clock/day.ts'
import { invalid } from './failure.ts'

const FIRST = Date.parse('0001-01-01T00:00:00Z')
const END = Date.parse('+010000-01-01T00:00:00Z')

/**
 * A day (its beginning in UTC) or a time that an address names, in ms.
 * @throws ConsoleError for one that no calendar has: 31 February would be read as a day of March; for years that are
 * not written with four digits, which the database does not read
 */
export function readMoment(text: string, field: string): number {
  const at = new Date(text).getTime()
  if (!(at >= FIRST && at < END) || !isDay(text.slice(0, 10))) throw invalid(field, 'This is no day or time')
  return at
}

/**
 * A day or a time that an address names; undefined where it names none.
 * @throws ConsoleError as `readMoment` does
 */
export function readDate(text: string | undefined, field: string): Date | undefined {
  return text === undefined ? undefined : new Date(readMoment(text, field))
}

/**
 * When something that is made is to end; undefined: never.
 * @throws ConsoleError for what is no day or time, or is over
 */
export function readExpiry(
  text: string | null | undefined,
  now: number,
  field = 'expires_at',
): Date | undefined {
  if (text === undefined || text === null) return undefined
  const at = readMoment(text, field)
  if (at <= now) throw invalid(field, 'This time is over already')
  return new Date(at)
}

/** The zone of that name; UTC where the name is none that is known here, since zones are made and renamed. */
export function zoneOf(name: string | undefined): string {
  if (name === undefined) return 'UTC'
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId
  } catch {
    return 'UTC'
  }
}

/** A moment as the clocks of a zone show it. `ms` since 1970. */
export function inZone(ms: number, zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
}

/** When the day begins that is so many days away. Not every day begins at midnight, nor has 24 hours. */
export function dayBeside(moment: Temporal.ZonedDateTime, days: number): Temporal.ZonedDateTime {
  return moment.startOfDay().add({ days }).startOfDay()
}
