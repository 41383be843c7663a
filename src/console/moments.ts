import { invalid } from './failure.ts'

/**
 * A day (its beginning in UTC) or a time that an address names, in ms.
 * @throws ConsoleError for one that no calendar has: 31 February would be read as a day of March
 */
export function readMoment(text: string, field: string): number {
  const at = new Date(text).getTime()
  const day = text.slice(0, 10)
  const midnight = new Date(`${day}T00:00:00Z`)
  const isDay = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day)
  if (Number.isNaN(at) || !isDay) throw invalid(field, 'This is no day or time')
  return at
}
