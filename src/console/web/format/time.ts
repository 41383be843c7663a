/** Times are shown in the reader's zone; the exact moment in UTC is what `utcTime` says, for a title. */

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** The reader's zone, as `Europe/Berlin`. */
export const ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone

/** `America/New_York` -> `America/New York` */
export function zoneName(zone: string): string {
  return zone.replaceAll('_', ' ')
}

/** `20 Nov 2026, 21:04:05` */
export function localTime(iso: string): string {
  const date = new Date(iso)
  return `${DAY.format(date)}, ${CLOCK.format(date)}`
}

/** `20 Nov 2026` */
export function localDay(iso: string): string {
  return DAY.format(new Date(iso))
}

/** `2026-11` -> `November 2026` */
export function monthName(month: string): string {
  return MONTH.format(new Date(`${month}-01T00:00:00Z`))
}

/** `2026-11-20 21:04:05 UTC` */
export function utcTime(iso: string): string {
  return `${new Date(iso).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** `just now`, `4 minutes ago`, `3 days ago`; the day itself beyond a month. */
export function sinceTime(iso: string, now: number): string {
  const seconds = Math.floor((now - new Date(iso).getTime()) / 1000)
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return ago(seconds / 60, 'minute')
  if (seconds < 86_400) return ago(seconds / 3600, 'hour')
  if (seconds < 30 * 86_400) return ago(seconds / 86_400, 'day')
  return localDay(iso)
}

/**
 * What the times of a chart are called, which are given in seconds: days, or hours. Where two would be called the same, as
 * clocks were put back, each is told with how far it is from UTC.
 */
export function timeTexts(
  times: readonly number[],
  isDaily: boolean,
  timeZone: string,
): (seconds: number) => string {
  const day = { day: 'numeric', month: 'short', timeZone } as const
  const style = isDaily ? day : ({ ...day, hour: '2-digit', minute: '2-digit' } as const)
  const textOf = (options: Intl.DateTimeFormatOptions) => {
    const { format } = new Intl.DateTimeFormat('en-GB', options)
    return (seconds: number) => format(seconds * 1000)
  }
  const plain = textOf(style)
  const isClear = new Set(times.map(plain)).size === times.length
  return isClear ? plain : textOf({ ...style, timeZoneName: 'shortOffset' })
}

/** `840 ms`, `1.4 s`, `2 min 5 s`: rounded before it is known which of them it is, so that none is `60.0 s`. */
export function duration(ms: number): string {
  const whole = Math.round(ms)
  if (whole < 1000) return `${whole} ms`
  const tenths = Math.round(ms / 100)
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** What an `<input type="datetime-local">` holds, as the moment it means in the reader's zone; undefined if it is empty. */
export function readLocalTime(value: string): string | undefined {
  if (value === '') return undefined
  const date = new Date(value)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** When the day began, in the reader's zone, that was so many days before the one of a moment. */
export function daysBefore(moment: Date, days: number): Date {
  return new Date(moment.getFullYear(), moment.getMonth(), moment.getDate() - days)
}

/** A moment's day in the reader's zone, as an `<input type="date">` holds it. */
export function typedDay(moment: Date): string {
  const two = (number: number) => String(number).padStart(2, '0')
  return `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`
}

/**
 * From the beginning of one day to the end of another, as two `<input type="date">` hold them, in the reader's zone;
 * undefined if one is none, or the last comes before the first.
 */
export function readDays(first: string, last: string): { from: string; to: string } | undefined {
  const [from, to] = [first, last].map(day => new Date(`${day}T00:00:00`))
  if (from === undefined || to === undefined) return undefined
  to.setDate(to.getDate() + 1)
  // Also where one of them is no time at all.
  return from < to ? { from: from.toISOString(), to: to.toISOString() } : undefined
}

function ago(count: number, unit: string): string {
  const whole = Math.floor(count)
  return `${whole} ${unit}${whole === 1 ? '' : 's'} ago`
}
