import { BEARER, type CredentialPattern, KEYS, NAMED } from './credentials.ts'
import { withoutSent } from './sent-credentials.ts'

const CREDENTIALS: readonly CredentialPattern[] = [...KEYS, BEARER, ...NAMED]

/**
 * The text with every credential replaced by its kind and `[redacted]`, so that a line still says whose key it was
 * about. What was JSON stays JSON.
 */
export function scrub(text: string): string {
  let clean = withoutSent(text, '[redacted]')
  for (const pattern of CREDENTIALS) clean = clean.replace(pattern, '$1[redacted]')
  return clean
}

/** More names than any catalog has. */
const MAX_NAMES = 10_000

const scrubbedNames = new Map<string, string>()

/** A value of a JSON line as `scrub` leaves it there, for the names of models and channels that come again and again. */
export function scrubName(name: string): string {
  const known = scrubbedNames.get(name)
  if (known !== undefined) return known
  const clean = String(JSON.parse(scrub(JSON.stringify(name))))
  if (scrubbedNames.size >= MAX_NAMES) scrubbedNames.clear()
  scrubbedNames.set(name, clean)
  return clean
}
