import { accountStore } from '@/accounts/store.ts'
import { loadDefaults } from '@/routing/defaults.ts'
import { type Console, entryOf } from '../deployment.ts'
import { ConsoleError, invalid, notFound } from '../failure.ts'
import { acceptLink, createUser, linkMakerOf, mailLink, makeLink } from '../links.ts'
import { checkSecondFactor, hashRecoveryCode, newRecoveryCodes, newSecret, stepOf } from '../second-factor.ts'
import { endedCookie, listSessions, openSession, type SignedIn } from '../sessions.ts'
import type { Attempt } from '../throttle.ts'
import { hashToken } from '../tokens.ts'
import { type StoredUser, userStore } from '../user-store.ts'
import { sessionRoutes, type User } from './contract/session.ts'
import { controller, type Incoming, type Listener } from './controller.ts'

const OK = { ok: true } as const

/** Signing up, in and out, and what a user may change of the own way in. */
export function sessionApi(console: Console, listener: Listener) {
  const { clock, database, passwords, throttle } = console
  const users = userStore(database.orm)

  /** A session of this browser that there was before is over: nobody could sign it out any more. */
  async function signIn(user: StoredUser, incoming: Incoming<SignedIn | undefined>) {
    const { signedIn: before } = incoming
    if (before !== undefined) await users.endSession(before.sessionId, before.user.id)
    incoming.setCookie(await openSession(console, user, incoming.origin))
    return { user: userRow(user) }
  }

  /** @throws ConsoleError `wrong_credentials` */
  async function confirmPassword(user: StoredUser, password: string, field = 'password'): Promise<void> {
    const attempts: Attempt[] = [['sign-in', `user ${user.id}`]]
    throttle.take(...attempts)
    if (!(await passwords.verify(password, user.passwordHash))) {
      throw new ConsoleError('wrong_credentials', 'The password is wrong', { field })
    }
    throttle.giveBack(...attempts)
  }

  return controller('console-session', console, listener, sessionRoutes, {
    'GET /api/deployment': async ({ signedIn }) => {
      const [entry, defaults] = await Promise.all([entryOf(console), loadDefaults(database)])
      return {
        user: signedIn === undefined ? null : userRow(signedIn.user),
        signup: entry.signup,
        mail: entry.smtp !== undefined,
        checkout: entry.stripe !== undefined,
        currency: defaults.currency,
        trial_credit: defaults.trialCredit,
        api_url: console.publicApiUrl,
        version: console.version,
      }
    },
    'POST /api/session': async ({ body, ...incoming }) => {
      const email = body.email.trim().toLowerCase()
      const ip = incoming.origin.ip ?? ''
      const attempts: Attempt[] = [
        ['sign-in', `${email} ${ip}`],
        ['sign-in-email', email],
        ['sign-in-ip', ip],
      ]
      throttle.take(...attempts)
      const user = await users.findByEmail(email)
      const isRight = await passwords.verify(body.password, user?.passwordHash)
      if (!isRight || user === undefined || user.status !== 'active') {
        throw new ConsoleError('wrong_credentials', 'The address or the password is wrong')
      }
      throttle.giveBack(...attempts)
      await checkSecondFactor(console, database.orm, user, body.code)
      await users.forgetExpired(new Date(clock.now()))
      return signIn(user, incoming)
    },
    'DELETE /api/session': async ({ signedIn, setCookie }) => {
      if (signedIn !== undefined) await users.endSession(signedIn.sessionId, signedIn.user.id)
      setCookie(endedCookie(console))
      return OK
    },
    'GET /api/sessions': async ({ signedIn }) => {
      const sessions = await listSessions(console, signedIn.user.id)
      return {
        items: sessions.map(session => ({
          id: session.id,
          current: session.id === signedIn.sessionId,
          created_at: session.createdAt.toISOString(),
          seen_at: session.seenAt.toISOString(),
          expires_at: session.expiresAt.toISOString(),
          ip: session.ip,
          agent: session.agent,
        })),
      }
    },
    'DELETE /api/sessions/:id': async ({ signedIn, params }) => {
      if (!(await users.endSession(params.id, signedIn.user.id))) throw notFound('session')
      return OK
    },
    'DELETE /api/sessions': async ({ signedIn, setCookie }) => {
      await users.endSessions(signedIn.user.id)
      setCookie(endedCookie(console))
      return OK
    },

    'POST /api/signup': async ({ body, ...incoming }) => {
      const entry = await entryOf(console)
      if (!entry.signup) throw new ConsoleError('forbidden', 'Accounts are made by an administrator here')
      const email = body.email.trim().toLowerCase()
      throttle.take(['stranger-ip', incoming.origin.ip ?? ''])
      if (entry.smtp !== undefined) {
        throttle.take(['stranger-email', email])
        await beginSignup(console, email)
        return { next: 'mail_sent' as const, user: null }
      }
      if (body.password === undefined) throw invalid('password', 'Choose a password')
      const user = await signUp(console, email, body.password)
      return { next: 'signed_in' as const, ...(await signIn(user, incoming)) }
    },
    'POST /api/password-reset': async ({ body, origin }) => {
      const email = body.email.trim().toLowerCase()
      throttle.take(['stranger-ip', origin.ip ?? ''], ['stranger-email', email])
      // Not waited for: how long it takes would tell whether there is such a user.
      void requestReset(console, email).catch(error =>
        console.log.error({ err: error }, 'a new password could not be asked for'),
      )
      return OK
    },
    'POST /api/links/inspect': async ({ body, origin }) => {
      throttle.take(['link-ip', origin.ip ?? ''])
      const link = await users.findLink(hashToken(body.token), new Date(clock.now()))
      if (link === undefined)
        throw new ConsoleError('not_found', 'This link was used already, or has expired')
      return { kind: link.kind, email: link.email, role: link.role, expires_at: link.expiresAt.toISOString() }
    },
    'POST /api/links/accept': async ({ body, ...incoming }) => {
      throttle.take(['link-ip', incoming.origin.ip ?? ''])
      const { ip } = incoming.origin
      const user = await acceptLink(console, { ...body, email: body.email, code: body.code, ip })
      return signIn(user, incoming)
    },

    'PUT /api/me/password': async ({ signedIn: { user, sessionId }, body }) => {
      await confirmPassword(user, body.current, 'current')
      const passwordHash = await passwords.hash(body.password)
      await database.orm.transaction(async tx => {
        const store = userStore(tx)
        await store.change(user.id, { passwordHash, resetRequestedAt: null })
        await store.voidLinks(user.email, ['password_reset'])
        await store.endSessions(user.id, sessionId)
      })
      return OK
    },
    'POST /api/me/totp': async ({ signedIn: { user }, body }) => {
      await confirmPassword(user, body.password)
      if (user.totpSecret !== null)
        throw new ConsoleError('refused', 'There is a second factor already: remove it first')
      const { secret, uri } = newSecret(console.random, user.email)
      await users.change(user.id, { totpPending: console.secretBox.seal(secret) })
      return { secret, uri }
    },
    'POST /api/me/totp/confirm': async ({ signedIn: { user, sessionId }, body }) => {
      if (user.totpPending === null) throw new ConsoleError('refused', 'There is nothing to confirm')
      throttle.take(['second-factor', String(user.id)])
      const step = stepOf(console.secretBox.open(user.totpPending), body.code, clock.now())
      if (step === undefined) throw invalid('code', 'This code is wrong')
      const codes = newRecoveryCodes(console.random)
      await database.orm.transaction(async tx => {
        const store = userStore(tx)
        await store.change(user.id, { totpSecret: user.totpPending, totpPending: null, totpStep: step })
        await store.setRecoveryCodes(user.id, codes.map(hashRecoveryCode))
        await store.endSessions(user.id, sessionId)
      })
      return { recovery_codes: codes }
    },
    'POST /api/me/totp/remove': async ({ signedIn: { user }, body }) => {
      await confirmPassword(user, body.password)
      if (user.totpSecret === null) throw new ConsoleError('refused', 'There is no second factor')
      await checkSecondFactor(console, database.orm, user, body.code)
      await users.change(user.id, { totpSecret: null, totpPending: null })
      await users.setRecoveryCodes(user.id, [])
      return OK
    },
  })
}

/** A user as the API shows it. */
export function userRow(user: StoredUser): User {
  return {
    id: user.id,
    email: user.email,
    role: user.role,
    account_id: user.accountId,
    totp: user.totpSecret !== null,
  }
}

/** Only the address's owner learns whether there was an account. */
async function beginSignup(console: Console, email: string): Promise<void> {
  const known = await userStore(console.database.orm).findByEmail(email)
  const terms = { kind: known === undefined ? 'signup' : 'password_reset', email, role: null } as const
  const url = await makeLink(linkMakerOf(console), console.database.orm, terms)
  // Not waited for: how long a mail takes would tell.
  void mailLink(console, email, terms.kind, url)
}

/** Without mail, nobody has shown that the address is theirs: an account that is there stays whose it is. */
async function signUp(console: Console, email: string, password: string): Promise<StoredUser> {
  const passwordHash = await console.passwords.hash(password)
  return console.database.orm.transaction(async tx => {
    if ((await accountStore({ orm: tx }, console.random).findAccountByEmail(email)) !== undefined) {
      throw new ConsoleError('refused', 'An account with this address cannot be made here', {
        field: 'email',
      })
    }
    return createUser(console, tx, { email, passwordHash, role: null })
  })
}

async function requestReset(console: Console, email: string): Promise<void> {
  const users = userStore(console.database.orm)
  const user = await users.findByEmail(email)
  if (user === undefined || user.status !== 'active') return
  const { smtp } = await entryOf(console)
  if (smtp === undefined) {
    await users.change(user.id, { resetRequestedAt: new Date(console.clock.now()) })
    return
  }
  const terms = { kind: 'password_reset', email, role: null } as const
  const url = await makeLink(linkMakerOf(console), console.database.orm, terms)
  void mailLink(console, email, 'password_reset', url)
}
