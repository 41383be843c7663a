import { BEARER, type CredentialPattern, KEYS, NAMED } from './credentials.ts'

const CREDENTIALS: readonly CredentialPattern[] = [...KEYS, BEARER, ...NAMED]

/**
 * The text with every credential replaced by its kind and `[redacted]`, so that a line still says whose key it was
 * about. What was JSON stays JSON.
 */
export function scrub(text: string): string {
  let clean = text
  for (const pattern of CREDENTIALS) clean = clean.replace(pattern, '$1[redacted]')
  return clean
}
