import { storedEmail } from '@/accounts/email.ts'
import { accountStore } from '@/accounts/store.ts'
import type { Transaction } from '@/db/connect.ts'
import type { JsonObject } from '@/json/json.ts'
import { administer } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError, notFound } from '../failure.ts'
import { cursorId, cursorOf, readPage } from '../paging.ts'
import { refuseOverwriting, revisionOf } from '../revision.ts'
import { factorStore } from '../sign-in/factor-store.ts'
import { linkStore } from '../sign-in/link-store.ts'
import { handOver, linkMakerOf, makeLink } from '../sign-in/links.ts'
import { sessionStore } from '../sign-in/session-store.ts'
import { hasRank, type SignedIn } from '../sign-in/sessions.ts'
import { lockAdministrators, type StoredUser, userStore } from '../sign-in/user-store.ts'
import { adminUserRoutes, type ConsoleUser } from './contract/admin-users.ts'
import { actorOf, controller, DONE, type Incoming, type Listener } from './controller.ts'
import { userRow } from './session.ts'

/** What administrators see and change of who signs in. */
export function adminUsersApi(console: Console, listener: Listener) {
  const { database } = console
  const users = userStore(database.orm)

  /** Changes a user, and writes down what it was before and after. Nobody else changes one meanwhile. */
  function change(
    call: Incoming<SignedIn>,
    id: number,
    action: string,
    shownOf: (user: StoredUser) => JsonObject,
    work: (tx: Transaction, user: StoredUser) => Promise<StoredUser | undefined>,
  ): Promise<StoredUser> {
    return administer(console, actorOf(call), async tx => {
      await lockAdministrators(tx)
      const user = await findBelow(tx, call, id)
      const after = (await work(tx, user)) ?? user
      return {
        result: after,
        act: { action, target: `user ${id}`, before: shownOf(user), after: shownOf(after) },
      }
    })
  }

  async function setStatus(call: Incoming<SignedIn>, id: number, status: 'active' | 'disabled') {
    const action = status === 'active' ? 'user.enable' : 'user.disable'
    const changed = await change(call, id, action, statusOf, async (tx, user) => {
      const store = userStore(tx)
      if (status === 'active') {
        await refuseClosed(tx, user)
        return store.change(id, { status })
      }
      await refuseLastOwner(tx, user)
      await sessionStore(tx).endAll(id)
      await linkStore(tx).revoke(user.email, ['password_reset', 'invite'])
      await linkStore(tx).revokeMadeBy(id)
      return store.change(id, { status, resetRequestedAt: null })
    })
    return consoleUserRow(changed)
  }

  return controller('console-admin-users', console, listener, adminUserRoutes, {
    'GET /api/admin/users': async ({ query }) => {
      const { role, status } = query
      const part = { before: cursorId(query), search: query.search?.trim() || undefined, role, status }
      const { rows, next } = await readPage(query, limit => users.search({ ...part, limit }), cursorOf)
      return { items: rows.map(consoleUserRow), next }
    },
    'POST /api/admin/users/invite': async ({ body, ...call }) => {
      const email = storedEmail(body.email)
      const terms = { kind: 'invite', email, role: body.role, madeBy: call.signedIn.user.id } as const
      const link = await administer(console, actorOf(call), async tx => ({
        result: await makeLink(linkMakerOf(console), tx, terms),
        act: {
          action: 'user.invite',
          target: `address ${email}`,
          before: null,
          after: { email, role: body.role },
        },
      }))
      return handOver(console, email, 'invite', link)
    },
    'PUT /api/admin/users/:id/role': async ({ params: { id }, body: { role, revision }, ...call }) => {
      const changed = await change(call, id, 'user.role', roleOf, async (tx, user) => {
        refuseOverwriting('user', userRevision(user), revision)
        if (role !== 'owner') await refuseLastOwner(tx, user)
        // Whoever could make a link for who they were may not be allowed to for who they are.
        await linkStore(tx).revoke(user.email, ['password_reset', 'invite'])
        // What an administrator handed out is worth no more than they are: it could bring back what is taken from them.
        if (role === null || !hasRank(role, user.role ?? role)) await linkStore(tx).revokeMadeBy(id)
        // Whoever had taken a session of this user's gets nothing of a role that is given later.
        await sessionStore(tx).endAll(id, call.signedIn.sessionId)
        return userStore(tx).change(id, { role })
      })
      return consoleUserRow(changed)
    },
    'POST /api/admin/users/:id/reset-link': async ({ params: { id }, ...call }) => {
      refuseOneself(call, id)
      const { email, link } = await administer(console, actorOf(call), async tx => {
        const { email, status } = await findBelow(tx, call, id)
        if (status !== 'active') throw new ConsoleError('refused', 'This user is disabled: enable them first')
        const madeBy = call.signedIn.user.id
        const terms = { kind: 'password_reset', email, role: null, madeBy } as const
        const link = await makeLink(linkMakerOf(console), tx, terms)
        await userStore(tx).change(id, { resetRequestedAt: null })
        const act = { action: 'user.reset-link', target: `user ${id}`, before: null, after: { email } }
        return { result: { email, link }, act }
      })
      return handOver(console, email, 'password_reset', link)
    },
    'POST /api/admin/users/:id/totp/remove': async ({ params: { id }, ...call }) => {
      refuseOneself(call, id)
      const changed = await change(call, id, 'user.totp-remove', totpOf, async tx => {
        await factorStore(tx).setRecoveryCodes(id, [])
        return userStore(tx).change(id, { totpSecret: null, totpPending: null })
      })
      return consoleUserRow(changed)
    },
    'POST /api/admin/users/:id/sign-out': async ({ params: { id }, ...call }) => {
      await change(call, id, 'user.sign-out', statusOf, async (tx, user) => {
        await sessionStore(tx).endAll(id)
        return user
      })
      return DONE
    },
    'POST /api/admin/users/:id/disable': ({ params, ...call }) => setStatus(call, params.id, 'disabled'),
    'POST /api/admin/users/:id/enable': ({ params, ...call }) => setStatus(call, params.id, 'active'),
  })
}

/** @throws ConsoleError `not_found`; `forbidden` for another administrator, whom only an owner may touch */
async function findBelow(tx: Transaction, { signedIn }: Incoming<SignedIn>, id: number): Promise<StoredUser> {
  const user = await userStore(tx).find(id)
  if (user === undefined) throw notFound('user')
  const isOther = user.id !== signedIn.user.id
  if (isOther && user.role !== null && !hasRank(signedIn.user.role, 'owner')) {
    throw new ConsoleError('forbidden', 'Only an owner may do this to another administrator')
  }
  return user
}

/** One's own second factor takes a code as well. */
function refuseOneself({ signedIn }: Incoming<SignedIn>, id: number): void {
  if (signedIn.user.id !== id) return
  throw new ConsoleError('refused', 'Change your own password and second factor under Settings')
}

function userRevision({ role }: StoredUser): string {
  return revisionOf({ role })
}

function consoleUserRow(user: StoredUser): ConsoleUser {
  return {
    ...userRow(user),
    status: user.status,
    created_at: user.createdAt.toISOString(),
    seen_at: user.seenAt?.toISOString() ?? null,
    reset_requested_at: user.resetRequestedAt?.toISOString() ?? null,
    revision: userRevision(user),
  }
}

/** There must be somebody who can say who administers. */
async function refuseLastOwner(tx: Transaction, { id, role }: StoredUser): Promise<void> {
  if (role !== 'owner' || (await userStore(tx).hasOtherOwner(id))) return
  throw new ConsoleError('refused', 'This is the last owner: make another one first')
}

/** Who holds a closed account signs in again when it is reopened. */
async function refuseClosed(tx: Transaction, { accountId }: StoredUser): Promise<void> {
  const { status } = await accountStore({ orm: tx }).findAccount(accountId)
  if (status === 'closed') throw new ConsoleError('refused', 'The account is closed: reopen that')
}

const roleOf = ({ email, role }: StoredUser): JsonObject => ({ email, role })
const statusOf = ({ email, status }: StoredUser): JsonObject => ({ email, status })
const totpOf = ({ email, totpSecret }: StoredUser): JsonObject => ({ email, totp: totpSecret !== null })
