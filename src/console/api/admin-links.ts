import { administer } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError, notFound } from '../failure.ts'
import { cursorHash, cursorOfHash, readPage } from '../paging.ts'
import { linkStore, type OpenLink as StoredOpenLink } from '../sign-in/link-store.ts'
import { hasRank } from '../sign-in/sessions.ts'
import { adminLinkRoutes, type OpenLink } from './contract/admin-links.ts'
import { actorOf, controller, DONE, type Listener } from './controller.ts'

/** The links that were handed out and nobody has used yet. */
export function adminLinksApi(console: Console, listener: Listener) {
  const { database, clock } = console

  return controller('console-admin-links', console, listener, adminLinkRoutes, {
    'GET /api/admin/links': async ({ query }) => {
      const after = cursorHash(query)
      const read = (limit: number) =>
        linkStore(database.orm).listOpen(new Date(clock.now()), { after, limit })
      const { rows, next } = await readPage(query, read, ({ link }) =>
        cursorOfHash({ at: link.createdAt, hash: link.tokenHash }),
      )
      return { items: rows.map(linkRow), next }
    },
    'DELETE /api/admin/links/:id': async ({ params, ...call }) => {
      await administer(console, actorOf(call), async tx => {
        const store = linkStore(tx)
        const hash = new Uint8Array(Buffer.from(params.id, 'hex'))
        const link = await store.find(hash, new Date(clock.now()))
        // The printed link of a deployment without an administrator is nobody's to take back.
        if (link === undefined || link.email === null || !(await store.remove(hash))) throw notFound('link')
        if (link.role !== null && !hasRank(call.signedIn.user.role, 'owner')) {
          throw new ConsoleError('forbidden', 'Only an owner takes back what makes an administrator')
        }
        const { kind, email, role } = link
        const before = { kind, email, role, expires_at: link.expiresAt.toISOString() }
        return {
          result: undefined,
          act: { action: 'link.revoke', target: `address ${email}`, before, after: null },
        }
      })
      return DONE
    },
  })
}

function linkRow({ link, madeBy }: StoredOpenLink): OpenLink {
  return {
    id: idOf(link.tokenHash),
    kind: link.kind === 'invite' ? 'invite' : 'password_reset',
    email: link.email ?? '',
    role: link.role,
    made_by: madeBy,
    created_at: link.createdAt.toISOString(),
    expires_at: link.expiresAt.toISOString(),
  }
}

/** The hash of 256 random bits says nothing of them. */
function idOf(tokenHash: Uint8Array): string {
  return Buffer.from(tokenHash).toString('hex')
}
