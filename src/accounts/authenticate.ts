import type { Caller } from './account.ts'
import { hashHex, parseKey, sameHash } from './api-key.ts'
import type { KeyCache } from './key-cache.ts'

export type Authentication =
  | { ok: true; caller: Caller }
  | { ok: false; reason: 'malformed' | 'unknown' | 'revoked' | 'expired' }

/**
 * Tells who presents a key. Of the account it says only what its status is: refusing a suspended one is the caller's
 * business, with another answer. Rejects only if the database cannot be asked.
 */
export type Authenticate = (presented: string) => Promise<Authentication>

/** `now` in ms. */
export function authenticator(cache: KeyCache, now: () => number): Authenticate {
  return async presented => {
    const hash = hashHex(presented)
    // What was asked for before has a good checksum.
    if (!cache.has(hash) && parseKey(presented) === undefined) return { ok: false, reason: 'malformed' }
    const record = await cache.find(hash)
    if (record === undefined || !sameHash(record.hash, Buffer.from(hash, 'hex')))
      return { ok: false, reason: 'unknown' }
    if (record.revoked) return { ok: false, reason: 'revoked' }
    const { caller } = record
    if (caller.expiresAt !== undefined && caller.expiresAt.getTime() <= now()) {
      return { ok: false, reason: 'expired' }
    }
    return { ok: true, caller }
  }
}
