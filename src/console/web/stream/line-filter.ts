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
