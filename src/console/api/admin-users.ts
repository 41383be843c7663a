import type { Transaction } from '@/db/connect.ts'
import type { JsonObject } from '@/json/json.ts'
import { administer } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError, notFound } from '../failure.ts'
import { linkMakerOf, mailLink, makeLink } from '../links.ts'
import { cursorId, limitOf, pageOf } from '../paging.ts'
import { hasRank, type SignedIn } from '../sessions.ts'
import { lockAdministrators, type StoredUser, userStore } from '../user-store.ts'
import { adminUserRoutes, type ConsoleUser } from './contract/admin-users.ts'
import { actorOf, controller, type Incoming, type Listener } from './controller.ts'

/** What administrators see and change of who signs in. */
export function adminUsersApi(console: Console, listener: Listener) {
  const { database } = console
  const users = userStore(database.orm)

  /** @throws ConsoleError `not_found`; `forbidden` for another administrator, whom only an owner may touch */
  async function findBelow({ signedIn }: Incoming<SignedIn>, id: number): Promise<StoredUser> {
    const user = await users.find(id)
    if (user === undefined) throw notFound('user')
    const isOther = user.id !== signedIn.user.id
    if (isOther && user.role !== null && !hasRank(signedIn.user.role, 'owner')) {
      throw new ConsoleError('forbidden', 'Only an owner may do this to another administrator')
    }
    return user
  }

  /** Changes a user and says what it was before and after. */
  function change(
    call: Incoming<SignedIn>,
    user: StoredUser,
    action: string,
    shownOf: (user: StoredUser) => JsonObject,
    work: (tx: Transaction) => Promise<StoredUser | undefined>,
  ): Promise<StoredUser> {
    return administer(console, actorOf(call), async tx => {
      const after = (await work(tx)) ?? user
      const target = `user ${user.id}`
      return { result: after, act: { action, target, before: shownOf(user), after: shownOf(after) } }
    })
  }

  async function setStatus(call: Incoming<SignedIn>, id: number, status: 'active' | 'disabled') {
    const user = await findBelow(call, id)
    const action = status === 'active' ? 'user.enable' : 'user.disable'
    const changed = await change(call, user, action, statusOf, async tx => {
      await lockAdministrators(tx)
      const store = userStore(tx)
      if (status === 'disabled') {
        await refuseLastOwner(tx, user)
        await store.endSessions(user.id)
        await store.voidLinks(user.email, ['password_reset', 'invite'])
      }
      return store.change(user.id, { status })
    })
    return userRow(changed)
  }

  return controller('console-admin-users', console, listener, adminUserRoutes, {
    'GET /api/admin/users': async ({ query }) => {
      const limit = limitOf(query)
      const search = query.search?.trim()
      const found = await users.search({
        before: cursorId(query),
        limit: limit + 1,
        search: search === '' ? undefined : search,
        role: query.role,
      })
      return pageOf(found, limit, userRow, ({ id }) => String(id))
    },
    'POST /api/admin/users/invite': async ({ body, ...call }) => {
      const email = body.email.trim().toLowerCase()
      const url = await administer(console, actorOf(call), async tx => ({
        result: await makeLink(linkMakerOf(console), tx, { kind: 'invite', email, role: body.role }),
        act: {
          action: 'user.invite',
          target: `address ${email}`,
          before: null,
          after: { email, role: body.role },
        },
      }))
      return { url, mailed: await mailLink(console, email, 'invite', url) }
    },
    'PUT /api/admin/users/:id/role': async ({ params, body, ...call }) => {
      const user = await findBelow(call, params.id)
      const changed = await change(call, user, 'user.role', roleOf, async tx => {
        await lockAdministrators(tx)
        if (body.role !== 'owner') await refuseLastOwner(tx, user)
        return userStore(tx).change(user.id, { role: body.role })
      })
      return userRow(changed)
    },
    'POST /api/admin/users/:id/reset-link': async ({ params, ...call }) => {
      const user = await findBelow(call, params.id)
      if (user.status !== 'active') throw new ConsoleError('refused', 'This user is disabled')
      const { email } = user
      const url = await administer(console, actorOf(call), async tx => {
        const link = await makeLink(linkMakerOf(console), tx, { kind: 'password_reset', email, role: null })
        await userStore(tx).change(user.id, { resetRequestedAt: null })
        const act = { action: 'user.reset-link', target: `user ${user.id}`, before: null, after: { email } }
        return { result: link, act }
      })
      return { url, mailed: await mailLink(console, email, 'password_reset', url) }
    },
    'POST /api/admin/users/:id/totp/remove': async ({ params, ...call }) => {
      const user = await findBelow(call, params.id)
      const changed = await change(call, user, 'user.totp-remove', totpOf, async tx => {
        await userStore(tx).setRecoveryCodes(user.id, [])
        return userStore(tx).change(user.id, { totpSecret: null, totpPending: null })
      })
      return userRow(changed)
    },
    'POST /api/admin/users/:id/sign-out': async ({ params, ...call }) => {
      const user = await findBelow(call, params.id)
      await change(call, user, 'user.sign-out', statusOf, async tx => {
        await userStore(tx).endSessions(user.id)
        return user
      })
      return { ok: true as const }
    },
    'POST /api/admin/users/:id/disable': ({ params, ...call }) => setStatus(call, params.id, 'disabled'),
    'POST /api/admin/users/:id/enable': ({ params, ...call }) => setStatus(call, params.id, 'active'),
  })
}

function userRow(user: StoredUser): ConsoleUser {
  return {
    id: user.id,
    email: user.email,
    role: user.role,
    status: user.status,
    account_id: user.accountId,
    totp: user.totpSecret !== null,
    created_at: user.createdAt.toISOString(),
    seen_at: user.seenAt?.toISOString() ?? null,
    reset_requested_at: user.resetRequestedAt?.toISOString() ?? null,
  }
}

/** There must be somebody who can say who administers. */
async function refuseLastOwner(tx: Transaction, { id, role }: StoredUser): Promise<void> {
  if (role !== 'owner' || (await userStore(tx).hasOtherOwner(id))) return
  throw new ConsoleError('refused', 'This is the last owner: make another one first')
}

const roleOf = ({ email, role }: StoredUser): JsonObject => ({ email, role })
const statusOf = ({ email, status }: StoredUser): JsonObject => ({ email, status })
const totpOf = ({ email, totpSecret }: StoredUser): JsonObject => ({ email, totp: totpSecret !== null })
