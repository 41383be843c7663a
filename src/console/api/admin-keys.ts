import type { ApiKey } from '@/accounts/account.ts'
import { type KeyStore, keyStore } from '@/accounts/key-store.ts'
import type { JsonObject } from '@/json/json.ts'
import { administer } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { notFound } from '../failure.ts'
import { keyRevision, limitChangesOf, limitsRow } from '../key-rows.ts'
import { refuseOverwriting } from '../revision.ts'
import type { SignedIn } from '../sessions.ts'
import { adminKeyRoutes } from './contract/admin-accounts.ts'
import type { Key } from './contract/keys.ts'
import { actorOf, controller, type Incoming, type Listener } from './controller.ts'
import { shown } from './keys.ts'

/** What administrators do about anybody's keys. */
export function adminKeysApi(console: Console, listener: Listener) {
  /** Changes a key, and writes down what of it was before and after. */
  async function change(
    call: Incoming<SignedIn>,
    id: number,
    action: string,
    shownOf: (key: ApiKey) => JsonObject,
    work: (store: KeyStore, before: ApiKey) => Promise<ApiKey>,
  ): Promise<Key> {
    const changed = await administer(console, actorOf(call), async tx => {
      const store = keyStore({ orm: tx })
      const before = await store.lockKey(id)
      if (before === undefined) throw notFound('key')
      const after = await work(store, before)
      const act = { action, target: `key ${id}`, before: shownOf(before), after: shownOf(after) }
      return { result: after, act }
    })
    return shown(console, changed)
  }

  return controller('console-admin-keys', console, listener, adminKeyRoutes, {
    'POST /api/admin/keys/:id/revoke': ({ params: { id }, ...call }) =>
      change(call, id, 'key.revoke', revocationOf, store => store.revokeKey(id)),
    'PATCH /api/admin/keys/:id/limits': ({ params: { id }, body: { revision, ...limits }, ...call }) =>
      change(call, id, 'key.limits', limitsOf, (store, before) => {
        refuseOverwriting('key', keyRevision(before), revision)
        return store.changeKeyLimits(id, limitChangesOf(limits))
      }),
  })
}

const revocationOf = ({ accountId, revokedAt }: ApiKey) => ({
  account_id: accountId,
  revoked: revokedAt !== undefined,
})
const limitsOf = ({ limits }: ApiKey) => limitsRow(limits)
