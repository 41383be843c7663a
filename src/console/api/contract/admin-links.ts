import { type Static, Type } from '@sinclair/typebox'
import { contracts } from './route.ts'
import { closed, done, moment, nullable, oneOf, page, paging, role } from './words.ts'

/** A one-time link that nobody has used yet, without what is in it. */
const openLink = closed({
  id: Type.String(),
  kind: oneOf(['invite', 'password_reset']),
  /** Whom it is for. */
  email: Type.String(),
  /** What whoever uses it becomes; null: no administrator. */
  role: nullable(role),
  /** Who handed it out; null: the command line, or a mail that somebody asked for. */
  made_by: nullable(Type.String()),
  created_at: moment,
  expires_at: moment,
})
export type OpenLink = Static<typeof openLink>

/** A link that was just made, for whoever made it to hand over. */
export const madeLink = closed({ url: Type.String(), expires_at: moment, mailed: Type.Boolean() })
export type MadeLink = Static<typeof madeLink>

/** Links that nobody has used yet. */
export const adminLinkRoutes = contracts({
  /** Invitations and links to a new password that still work, newest first. */
  'GET /api/admin/links': { access: 'reader', query: closed(paging), response: page(openLink) },
  /** It works no more. One that makes an administrator only an owner takes back. */
  'DELETE /api/admin/links/:id': {
    access: 'admin',
    params: closed({ id: Type.String({ pattern: '^[\\da-f]{64}$' }) }),
    response: done,
  },
})
