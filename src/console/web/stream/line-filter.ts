import type { RequestLine } from '../../api/contract/requests.ts'

/** What the log is searched by; an empty text is no condition. */
export interface LineFilter {
  model: string
  key: string
  status: string
  end: string
  id: string
  account: string
  channel: string
  /** How far back, as a name of `SPANS`. A request that ends now is within each. */
  since: string
}

/** How far back the log may be asked to look, in hours. */
export const SPANS: Readonly<Record<string, { name: string; hours: number }>> = {
  hour: { name: 'Last hour', hours: 1 },
  day: { name: '24 hours', hours: 24 },
  week: { name: '7 days', hours: 7 * 24 },
  month: { name: '30 days', hours: 30 * 24 },
}

/** When the span of that name began; undefined where it is none. `now` in ms. */
export function beginningOf(since: string, now: number): string | undefined {
  const span = Object.hasOwn(SPANS, since) ? SPANS[since] : undefined
  return span === undefined ? undefined : new Date(now - span.hours * 3_600_000).toISOString()
}

/** Whether the server would list a line under this filter: a live tail shows only those. */
export function matchesFilter(line: RequestLine, filter: LineFilter): boolean {
  return (
    (filter.model === '' || line.model === filter.model) &&
    (filter.key === '' || String(line.key_id) === filter.key) &&
    (filter.status === '' || matchesStatus(line.status, filter.status)) &&
    (filter.end === '' || line.end_state === filter.end) &&
    (filter.id === '' || line.id.startsWith(filter.id.toLowerCase())) &&
    (filter.account === '' || String(line.account_id) === filter.account) &&
    (filter.channel === '' || line.channel === filter.channel)
  )
}

/** `4xx` is all of its hundred. */
function matchesStatus(status: number, wanted: string): boolean {
  return wanted.endsWith('xx') ? String(status).startsWith(wanted.slice(0, 1)) : String(status) === wanted
}
