import { callerBy } from '#tests/support/caller.ts'
import { hashKey, mintKey } from '@/accounts/api-key.ts'
import { authenticator } from '@/accounts/authenticate.ts'
import { keyCache } from '@/accounts/key-cache.ts'

/** The work of telling whose key it is, once the process knows it. */
export function keyCheck(): () => Promise<unknown> {
  const { key } = mintKey(bytes => new Uint8Array(bytes).fill(7))
  const record = { hash: hashKey(key), revoked: false, caller: callerBy(1, 1) }
  const cache = keyCache({ load: async () => record, clock: { elapsed: () => 0 }, random: () => 0.5 })
  const authenticate = authenticator(cache, () => 0)
  return async () => authenticate(key)
}
