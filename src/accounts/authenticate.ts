import type { Caller, KeyRecord } from './account.ts'
import { hashHex, parseKey } from './api-key.ts'
import type { KeyCache } from './key-cache.ts'

/** Who presented a key, or why nobody is let in by it. A key that is not `malformed` has a good checksum. */
export type Authentication =
  | { ok: true; caller: Caller }
  | { ok: false; reason: 'malformed' | 'unknown' | 'revoked' | 'expired' }

/**
 * Tells who presents a key. Of the account it says only what its status is: refusing a suspended one is the caller's
 * business, with another answer. At once where the key is known; rejects only if the database cannot be asked.
 */
export type Authenticate = (presented: string) => Authentication | Promise<Authentication>

/** Tells who presents a key, by what is known of keys. @param now milliseconds since 1970 */
export function authenticator(cache: KeyCache, now: () => number): Authenticate {
  return presented => {
    const hash = hashHex(presented)
    const known = cache.known(hash)
    if (known !== undefined) return judge(known, now)
    // What was asked for before has a good checksum.
    if (!cache.has(hash) && parseKey(presented) === undefined) return MALFORMED
    return cache.find(hash).then(found => (found === undefined ? UNKNOWN : judge(found, now)))
  }
}

const MALFORMED: Authentication = { ok: false, reason: 'malformed' }
const UNKNOWN: Authentication = { ok: false, reason: 'unknown' }

function judge({ revoked, caller }: KeyRecord, now: () => number): Authentication {
  if (revoked) return { ok: false, reason: 'revoked' }
  if (caller.expiresAt !== undefined && caller.expiresAt.getTime() <= now()) {
    return { ok: false, reason: 'expired' }
  }
  return { ok: true, caller }
}
