import { BEARER, KEYS } from '@/telemetry/credentials.ts'
import { withoutSent } from '@/telemetry/sent-credentials.ts'

/**
 * What an upstream's text may hold that is the operator's business: keys, addresses, account ids. Replaced by a word
 * in brackets, so that the sentence around it still reads.
 */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [BEARER, '$1[key]'],
  [/\bhttps?:\/\/[^\s"'<>)\]]+/gi, '[url]'],
  ...KEYS.map(pattern => [pattern, '[key]'] as const),
  // One that has no looks and is too short to be known again (`EMPTY`, `secret`).
  [
    /\b((?:(?<!\bno )api[ _-]?key provided: *|api[_-]?key=)\\?["']?)[^\s"',;\\[]*[^\s"',;\\[.:!?]/gi,
    '$1[key]',
  ],
  [/\b(?:org|proj|acct|user)[-_][A-Za-z0-9]{8,}/g, '[account]'],
  [
    /\b((?:organization|team|workspace|tenant|subscriptions?|key id)\W{0,3})[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi,
    '$1[account]',
  ],
  [/\b((?:projects?(?:_number)?|account)\W{1,3})\d{5,}/gi, '$1[account]'],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, '[address]'],
  [
    /\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:com|net|org|io|ai|dev|app|cloud|local|internal|svc|lan|cn|eu|us|de|run|sh|xyz|tech|co)(?::\d{1,5})?(?![\w-])/gi,
    '[address]',
  ],
]

/** The text without keys, addresses with hosts, and account ids. */
export function redact(text: string): string {
  let clean = withoutSent(text, '[key]')
  for (const [pattern, replacement] of SECRETS) clean = clean.replace(pattern, replacement)
  return clean
}

/** A word that programs read, or the path of a field, without keys. What looks like an address is none there. */
export function redactKeys(word: string): string {
  return KEYS.reduce((clean, pattern) => clean.replace(pattern, '[key]'), withoutSent(word, '[key]'))
}
