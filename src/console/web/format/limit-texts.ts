import type { Account } from '../../api/contract/admin-accounts.ts'
import { counted, readCount } from './number.ts'
import { optionalCount } from './typed.ts'

type Limits = Account['limits']

/** Limits as people type them; an empty text is the deployment's default. */
export type LimitTexts = Record<keyof Limits, string>

/** Nothing of one's own: the deployment's defaults. */
export const NO_LIMITS: LimitTexts = {
  requests_per_minute: '',
  tokens_per_minute: '',
  concurrent_requests: '',
}

/** What a form of limits begins with. */
export function limitTexts(limits: Limits): LimitTexts {
  const text = (value: number | null) => (value === null ? '' : String(value))
  return {
    requests_per_minute: text(limits.requests_per_minute),
    tokens_per_minute: text(limits.tokens_per_minute),
    concurrent_requests: text(limits.concurrent_requests),
  }
}

/** Whether any of them is not the deployment's default. */
export function hasLimits(limits: Limits): boolean {
  return Object.values(limits).some(limit => limit !== null)
}

/** Limits as a sentence's part; what is not said of its own is the deployment's. */
export function limitsInWords(limits: Limits): string {
  const own = [
    { value: limits.requests_per_minute, what: 'request', rest: 'a minute' },
    { value: limits.tokens_per_minute, what: 'token', rest: 'a minute' },
    { value: limits.concurrent_requests, what: 'request', rest: 'at once' },
  ].flatMap(({ value, what, rest }) => (value === null ? [] : [`${counted(value, what)} ${rest}`]))
  if (!hasLimits(limits)) return "the deployment's defaults"
  return own.length === 3 ? own.join(', ') : `${own.join(', ')}; else the defaults`
}

/**
 * Limits as the server wants them; `at` is where they stand in the body, with a dot behind it.
 * @throws ApiFailure naming the field that cannot be read
 */
export function readLimits(texts: LimitTexts, at = ''): Limits {
  return {
    requests_per_minute: optionalCount(texts.requests_per_minute, `${at}requests_per_minute`) ?? null,
    tokens_per_minute: optionalCount(texts.tokens_per_minute, `${at}tokens_per_minute`) ?? null,
    concurrent_requests: optionalCount(texts.concurrent_requests, `${at}concurrent_requests`) ?? null,
  }
}

/** What is wrong with what was typed, by field; undefined if nothing is. */
export function limitError(text: string): string | undefined {
  if (text.trim() === '') return undefined
  const count = readCount(text)
  return count === undefined || count === 0
    ? 'A whole number above 0, or nothing for the default.'
    : undefined
}
