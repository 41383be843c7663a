import type { ApiKey } from '@/accounts/account.ts'
import { type KeyStore, keyStore } from '@/accounts/key-store.ts'
import type { JsonObject } from '@/json/json.ts'
import { type Actor, administer } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { limitsRow } from './key-rows.ts'

/** What is changed about a key, and what the log is told of it. */
export interface KeyChange {
  id: number
  /** As the log names it. */
  action: string
  /** What the change is about, for the log. */
  shown(key: ApiKey): JsonObject
  work(store: KeyStore, before: ApiKey): Promise<ApiKey>
}

/** Changes a key, and writes down what of it was before and after. Undefined: there is no such key. */
export function changeKey(
  where: Pick<Console, 'database'>,
  actor: Actor,
  { id, action, shown, work }: KeyChange,
): Promise<ApiKey | undefined> {
  return administer(where, actor, async tx => {
    const store = keyStore({ orm: tx })
    const before = await store.lockKey(id)
    if (before === undefined) return { result: undefined, act: undefined }
    const after = await work(store, before)
    const act = { action, target: `key ${id}`, before: shown(before), after: shown(after) }
    return { result: after, act }
  })
}

/** As the log shows whether a key still works. */
export const revocationOf = ({ accountId, revokedAt }: ApiKey) => ({
  account_id: accountId,
  revoked: revokedAt !== undefined,
})

/** As the log shows what a key may do at most. */
export const limitsOf = ({ limits }: ApiKey) => limitsRow(limits)
