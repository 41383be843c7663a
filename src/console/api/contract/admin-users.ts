import { type Static, Type } from '@sinclair/typebox'
import { madeLink } from './admin-links.ts'
import { contracts } from './route.ts'
import { user } from './session.ts'
import {
  byId,
  closed,
  done,
  email,
  moment,
  nullable,
  oneOf,
  ownPassword,
  page,
  paging,
  revision,
  role,
} from './words.ts'

/** A user as administrators see it. */
const consoleUser = closed({
  ...user.properties,
  email: Type.String(),
  status: oneOf(['active', 'disabled']),
  created_at: moment,
  seen_at: nullable(moment),
  /** Somebody asked for a new password and no mail could be sent: since when. */
  reset_requested_at: nullable(moment),
  /** Of the role. */
  revision,
})
export type ConsoleUser = Static<typeof consoleUser>

/** What takes the password of who does it. */
const confirmed = {
  access: 'admin',
  params: byId,
  asks: 'password',
  body: closed({ password: ownPassword }),
} as const

/** Users: invited, given a role, signed out and disabled. */
export const adminUserRoutes = contracts({
  /** Newest first; `role` `any` shows administrators only, `status` `waiting` those who asked for a link to a new password. */
  'GET /api/admin/users': {
    access: 'reader',
    query: closed({
      ...paging,
      search: Type.Optional(Type.String({ maxLength: 254 })),
      role: Type.Optional(Type.Union([role, Type.Literal('any')])),
      status: Type.Optional(oneOf(['active', 'disabled', 'waiting'])),
    }),
    response: page(consoleUser),
  },
  /** A one-time link that makes an administrator. */
  'POST /api/admin/users/invite': {
    access: 'owner',
    asks: 'password',
    body: closed({ email, role, password: ownPassword }),
    response: madeLink,
  },
  /** Null: no administrator any more. Refused for the last owner. */
  'PUT /api/admin/users/:id/role': {
    access: 'owner',
    params: byId,
    asks: 'password',
    body: closed({ role: nullable(role), revision: Type.Optional(revision), password: ownPassword }),
    response: consoleUser,
  },
  /** A one-time link to a new password; for another administrator, only an owner gets it. Refused for oneself. */
  'POST /api/admin/users/:id/reset-link': { ...confirmed, response: madeLink },
  /** Takes away the second factor of somebody who lost it; of another administrator, only an owner may. Refused for oneself. */
  'POST /api/admin/users/:id/totp/remove': { ...confirmed, response: consoleUser },
  /** Ends all sessions of a user; of another administrator, only an owner may. */
  'POST /api/admin/users/:id/sign-out': { access: 'admin', params: byId, response: done },
  /** Signs out and keeps out; the account and its keys go on. Refused for the last owner. */
  'POST /api/admin/users/:id/disable': { access: 'admin', params: byId, response: consoleUser },
  'POST /api/admin/users/:id/enable': { ...confirmed, response: consoleUser },
})
