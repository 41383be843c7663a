import { changeKey, type KeyChange, limitsOf, revocationOf } from '../accounts/key-changes.ts'
import { keyRevision, limitChangesOf } from '../accounts/key-rows.ts'
import type { Console } from '../deployment.ts'
import { notFound } from '../failure.ts'
import { refuseOverwriting } from '../revision.ts'
import type { SignedIn } from '../sign-in/sessions.ts'
import { adminKeyRoutes } from './contract/admin-accounts.ts'
import type { Key } from './contract/keys.ts'
import { actorOf, controller, type Incoming, type Listener } from './controller.ts'
import { shown } from './keys.ts'

/** What administrators do about anybody's keys. */
export function adminKeysApi(console: Console, listener: Listener) {
  async function change(call: Incoming<SignedIn>, made: KeyChange): Promise<Key> {
    const changed = await changeKey(console, actorOf(call), made)
    if (changed === undefined) throw notFound('key')
    return shown(console, changed)
  }

  return controller('console-admin-keys', console, listener, adminKeyRoutes, {
    'POST /api/admin/keys/:id/revoke': ({ params: { id }, ...call }) =>
      change(call, { id, action: 'key.revoke', shown: revocationOf, work: store => store.revokeKey(id) }),
    'PATCH /api/admin/keys/:id/limits': ({ params: { id }, body: { revision, ...limits }, ...call }) =>
      change(call, {
        id,
        action: 'key.limits',
        shown: limitsOf,
        work: (store, before) => {
          refuseOverwriting('key', keyRevision(before), revision)
          return store.changeKeyLimits(id, limitChangesOf(limits))
        },
      }),
  })
}
