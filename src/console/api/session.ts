import { storedEmail } from '@/accounts/email.ts'
import { loadDefaults } from '@/routing/catalog/defaults.ts'
import { type Console, entryOf } from '../deployment.ts'
import { ConsoleError, notFound } from '../failure.ts'
import { linkStore } from '../sign-in/link-store.ts'
import { checkSecondFactor } from '../sign-in/second-factor.ts'
import { sessionStore } from '../sign-in/session-store.ts'
import { endedCookie, listSessions, openSession, type SignedIn } from '../sign-in/sessions.ts'
import { placeOf, type Throttled } from '../sign-in/throttle.ts'
import { type StoredUser, userStore } from '../sign-in/user-store.ts'
import { sessionRoutes, type User } from './contract/session.ts'
import { controller, DONE, type Incoming, type Listener } from './controller.ts'

/** Signing in and out, and where a user is signed in. */
export function sessionApi(console: Console, listener: Listener) {
  const { clock, database, passwords, throttle } = console
  const users = userStore(database.orm)
  const sessions = sessionStore(database.orm)

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
      const email = storedEmail(body.email)
      const place = placeOf(incoming.origin)
      const attempts: Throttled[] = [
        ['sign-in', `${email} ${place}`],
        ['sign-in-email', email],
        ['sign-in-ip', place],
      ]
      throttle.take(...attempts)
      const user = await users.findByEmail(email)
      const isRight = await passwords.verify(body.password, user?.passwordHash)
      if (!isRight || user === undefined || user.status !== 'active') {
        throw new ConsoleError('wrong_credentials', 'The address or the password is wrong')
      }
      throttle.giveBack(...attempts)
      await checkSecondFactor(console, database.orm, user, body.code)
      if (user.resetRequestedAt !== null) await users.change(user.id, { resetRequestedAt: null })
      const now = new Date(clock.now())
      await Promise.all([sessions.forgetExpired(now), linkStore(database.orm).forgetExpired(now)])
      return signIn(console, user, incoming)
    },
    'DELETE /api/session': async ({ signedIn, setCookie }) => {
      if (signedIn !== undefined) await sessions.end(signedIn.sessionId, signedIn.user.id)
      setCookie(endedCookie(console))
      return DONE
    },
    'GET /api/sessions': async ({ signedIn }) => {
      const found = await listSessions(console, signedIn.user.id)
      return {
        items: found.map(session => ({
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
      if (!(await sessions.end(params.id, signedIn.user.id))) throw notFound('session')
      return DONE
    },
    'DELETE /api/sessions': async ({ signedIn, setCookie }) => {
      await sessions.endAll(signedIn.user.id)
      setCookie(endedCookie(console))
      return DONE
    },
  })
}

/** A session of this browser that there was before is over: nobody could sign it out any more. */
export async function signIn(
  console: Console,
  user: StoredUser,
  { signedIn: before, origin, setCookie }: Incoming<SignedIn | undefined>,
): Promise<{ user: User }> {
  if (before !== undefined) {
    await sessionStore(console.database.orm).end(before.sessionId, before.user.id)
  }
  setCookie(await openSession(console, user, origin))
  return { user: userRow(user) }
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
