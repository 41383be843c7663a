import { type Static, Type } from '@sinclair/typebox'
import { contracts } from './route.ts'
import {
  byId,
  closed,
  code,
  done,
  email,
  id,
  moment,
  nullable,
  oneOf,
  ownEmail,
  ownPassword,
  password,
  role,
} from './words.ts'

/** Who is signed in. */
export const user = closed({
  id,
  email: ownEmail,
  /** Null: no administrator. */
  role: nullable(role),
  /** Whose keys, balance and requests this user sees. */
  account_id: id,
  /** Whether signing in takes a second factor. */
  totp: Type.Boolean(),
})
export type User = Static<typeof user>

/** What the page has to know before anybody signs in. */
const deployment = closed({
  user: nullable(user),
  /** Whether visitors may make an account. */
  signup: Type.Boolean(),
  /** Whether mail is sent: then signing up begins with a mail, and a forgotten password with another. */
  mail: Type.Boolean(),
  /** Whether credit can be bought by card. */
  checkout: Type.Boolean(),
  currency: Type.String(),
  /** What a new account is given; a decimal string. */
  trial_credit: Type.String(),
  /** What callers of the API use as base address, without a trailing slash and without `/v1`. */
  api_url: Type.String(),
  version: Type.String(),
})
export type Deployment = Static<typeof deployment>

const signedIn = closed({ user })

const linkKind = Type.Union([
  /** The printed link of a deployment without an administrator: `email` is null, whoever accepts it says theirs. */
  Type.Literal('first_owner'),
  Type.Literal('invite'),
  Type.Literal('password_reset'),
  Type.Literal('signup'),
])

/** Signing in and out. */
export const sessionRoutes = contracts({
  'GET /api/deployment': { access: 'anyone', response: deployment },
  /** Signs in: sets the cookie. `code` is asked for by the failure `second_factor_required`. */
  'POST /api/session': {
    access: 'anyone',
    body: closed({
      email: ownEmail,
      password: ownPassword,
      code: Type.Optional(code),
    }),
    response: signedIn,
  },
  /** Signs out. */
  'DELETE /api/session': { access: 'anyone', response: done },
  'GET /api/sessions': {
    access: 'holder',
    response: closed({
      items: Type.Array(
        closed({
          id,
          current: Type.Boolean(),
          created_at: moment,
          /** To the minute. */
          seen_at: moment,
          expires_at: moment,
          ip: nullable(Type.String()),
          /** The browser in a few words. */
          agent: Type.String(),
        }),
      ),
    }),
  },
  /** Ends one of one's own sessions. */
  'DELETE /api/sessions/:id': { access: 'holder', params: byId, response: done },
  /** Signs out everywhere, here included. */
  'DELETE /api/sessions': { access: 'holder', response: done },
})

/** One-time links: how a stranger becomes a user, and a user who has forgotten the password gets in again. */
export const linkRoutes = contracts({
  /** With mail: always `mail_sent`, whoever asks. Without: the account is made and signed in. */
  'POST /api/signup': {
    access: 'anyone',
    body: closed({ email, password: Type.Optional(password) }),
    response: closed({
      next: oneOf(['mail_sent', 'signed_in']),
      user: nullable(user),
    }),
  },
  /** Always done, whoever asks. Without mail an administrator sees that somebody waits for a link. */
  'POST /api/password-reset': { access: 'anyone', body: closed({ email: ownEmail }), response: done },
  /** What a one-time link is for. Links are `PUBLIC_CONSOLE_URL/link#TOKEN`: the token never is in a request's path. */
  'POST /api/links/inspect': {
    access: 'anyone',
    body: closed({ token: Type.String({ maxLength: 200 }) }),
    response: closed({
      kind: linkKind,
      email: nullable(Type.String()),
      role: nullable(role),
      expires_at: moment,
    }),
  },
  /** Uses a link up: sets the password, signs in. A second factor stays, and is asked for here as well. */
  'POST /api/links/accept': {
    access: 'anyone',
    body: closed({
      token: Type.String({ maxLength: 200 }),
      password,
      email: Type.Optional(email),
      code: Type.Optional(code),
    }),
    response: signedIn,
  },
})

/** A user's own password and second factor, and the wish to have the account closed. */
export const meRoutes = contracts({
  /** Signs out everywhere else. */
  'PUT /api/me/password': {
    access: 'holder',
    asks: 'current',
    body: closed({ current: ownPassword, password }),
    response: done,
  },
  /** Begins a second factor; it counts from the confirmation on. */
  'POST /api/me/totp': {
    access: 'holder',
    asks: 'password',
    body: closed({ password: ownPassword }),
    response: closed({ secret: Type.String(), uri: Type.String() }),
  },
  /** The recovery codes are shown this once; each works once. */
  'POST /api/me/totp/confirm': {
    access: 'holder',
    body: closed({ code }),
    response: closed({ recovery_codes: Type.Array(Type.String()) }),
  },
  /** Since when the holder asks for the account to be closed; an administrator sees it, and closes it. */
  'GET /api/me/closing': { access: 'holder', response: closed({ requested_at: nullable(moment) }) },
  'POST /api/me/closing': {
    access: 'holder',
    asks: 'password',
    body: closed({ password: ownPassword }),
    response: closed({ requested_at: moment }),
  },
  /** Takes it back. */
  'DELETE /api/me/closing': { access: 'holder', response: done },
  'POST /api/me/totp/remove': {
    access: 'holder',
    asks: 'password',
    body: closed({ password: ownPassword, code }),
    response: done,
  },
})
