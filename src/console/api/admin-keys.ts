import { keyStore } from '@/accounts/key-store.ts'
import { administer } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { notFound } from '../failure.ts'
import { keyRevision, limitChangesOf, limitsRow } from '../key-rows.ts'
import { refuseOverwriting } from '../revision.ts'
import { adminKeyRoutes } from './contract/admin-accounts.ts'
import { actorOf, controller, type Listener } from './controller.ts'
import { shown } from './keys.ts'

/** What administrators do about anybody's keys. */
export function adminKeysApi(console: Console, listener: Listener) {
  return controller('console-admin-keys', console, listener, adminKeyRoutes, {
    'POST /api/admin/keys/:id/revoke': async ({ params: { id }, ...call }) => {
      const key = await administer(console, actorOf(call), async tx => {
        const store = keyStore({ orm: tx })
        const before = await store.lockKey(id)
        if (before === undefined) throw notFound('key')
        const { accountId: account_id, revokedAt } = before
        return {
          result: await store.revokeKey(id),
          act: {
            action: 'key.revoke',
            target: `key ${id}`,
            before: { account_id, revoked: revokedAt !== undefined },
            after: { account_id, revoked: true },
          },
        }
      })
      return shown(console, key)
    },
    'PATCH /api/admin/keys/:id/limits': async ({
      params: { id },
      body: { revision, ...limits },
      ...call
    }) => {
      const key = await administer(console, actorOf(call), async tx => {
        const store = keyStore({ orm: tx })
        const before = await store.lockKey(id)
        if (before === undefined) throw notFound('key')
        refuseOverwriting('key', keyRevision(before), revision)
        const after = await store.changeKeyLimits(id, limitChangesOf(limits))
        return {
          result: after,
          act: {
            action: 'key.limits',
            target: `key ${id}`,
            before: limitsRow(before.limits),
            after: limitsRow(after.limits),
          },
        }
      })
      return shown(console, key)
    },
  })
}
