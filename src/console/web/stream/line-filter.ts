import type { RequestLine } from '../../api/contract/requests.ts'
import { readDays } from '../format/time.ts'

/** What the log is searched by; an empty text is no condition. */
export interface LineFilter {
  model: string
  key: string
  status: string
  end: string
  id: string
  account: string
  channel: string
  /** How far back, as a name of `SPANS`; or `days`, from the first day to the last. */
  since: string
  first: string
  last: string
}

/** Every end but the good one, as the API names it. */
export const INCOMPLETE = 'incomplete'
/** Chosen days in the place of a span. */
export const DAYS = 'days'

/** How far back the log may be asked to look, in hours. */
export const SPANS: Readonly<Record<string, { name: string; hours: number }>> = {
  hour: { name: 'Last hour', hours: 1 },
  day: { name: '24 hours', hours: 24 },
  week: { name: '7 days', hours: 7 * 24 },
  month: { name: '30 days', hours: 30 * 24 },
}

/** From when on, and until when; what is missing is no condition. Undefined: the days are none. `now` in ms. */
export function timeOf(
  { since, first, last }: Pick<LineFilter, 'since' | 'first' | 'last'>,
  now: number,
): { from?: string; to?: string } | undefined {
  if (since === DAYS) return readDays(first, last)
  const span = Object.hasOwn(SPANS, since) ? SPANS[since] : undefined
  return span === undefined ? {} : { from: new Date(now - span.hours * 3_600_000).toISOString() }
}

/** Whether the server would list a line under this filter: a live tail shows only those. */
export function matchesFilter(line: RequestLine, filter: LineFilter): boolean {
  return (
    (filter.model === '' || line.model === filter.model) &&
    (filter.key === '' || String(line.key_id) === filter.key) &&
    (filter.status === '' || matchesStatus(line.status, filter.status)) &&
    (filter.end === '' || matchesEnd(line.end_state, filter.end)) &&
    isWithin(line.started_at, timeOf(filter, Date.parse(line.started_at))) &&
    (filter.id === '' || line.id.startsWith(filter.id.toLowerCase())) &&
    (filter.account === '' || String(line.account_id) === filter.account) &&
    (filter.channel === '' || line.channel === filter.channel)
  )
}

function matchesEnd(end: string, wanted: string): boolean {
  return wanted === INCOMPLETE ? end !== 'complete' : end === wanted
}

/** A request that ends now is within each span, and not within days that are over. */
function isWithin(iso: string, { from, to }: { from?: string; to?: string } = {}): boolean {
  return (from === undefined || from <= iso) && (to === undefined || iso < to)
}

/** `4xx` is all of its hundred. */
function matchesStatus(status: number, wanted: string): boolean {
  return wanted.endsWith('xx') ? String(status).startsWith(wanted.slice(0, 1)) : String(status) === wanted
}
