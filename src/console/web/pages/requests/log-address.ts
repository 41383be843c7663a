import type { LineFilter } from '../../stream/line-filter.ts'

/** The time that a log is asked for. */
export type LogTime = Pick<LineFilter, 'since' | 'first' | 'last'>

/** A chart of usage, as its page is asked for it. */
interface Chart {
  /** Whose: one's own, or everybody's or that of an account. */
  at: '/api' | '/api/admin'
  accountId: number | undefined
  /** What the series are told apart by. */
  by: string
  /** What the address says of it, to be kept where the log is on the same page. */
  state: Readonly<Record<string, string>>
}

/** By what of these a log can be searched. */
const SEARCHED_BY: Readonly<Record<string, keyof LineFilter>> = {
  model: 'model',
  key: 'key',
  account: 'account',
  channel: 'channel',
}

/** Where the requests of a series are listed; undefined: none is searched by that, or it is of no one thing. */
export function logAddress(
  { at, accountId, by, state }: Chart,
  id: string,
  these: LogTime & Partial<Pick<LineFilter, 'end'>>,
): string | undefined {
  const name = SEARCHED_BY[by]
  if (name === undefined || id === '' || id === '*') return undefined
  const asked = { [name]: id, ...these }
  if (at === '/api') return addressOf('/requests', asked)
  const whose = accountId === undefined ? state : { account: String(accountId) }
  return addressOf('/admin/traffic', { ...whose, ...asked })
}

function addressOf(path: string, asked: Readonly<Record<string, string>>): string {
  return `${path}?${new URLSearchParams(Object.entries(asked).filter(([, text]) => text !== ''))}`
}
