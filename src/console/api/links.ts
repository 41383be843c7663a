import { storedEmail } from '@/accounts/email.ts'
import { accountStore } from '@/accounts/store.ts'
import { type Console, entryOf } from '../deployment.ts'
import { ConsoleError, invalid } from '../failure.ts'
import { linkStore } from '../sign-in/link-store.ts'
import { acceptLink, createUser, linkMakerOf, mailLink, makeLink } from '../sign-in/links.ts'
import { placeOf } from '../sign-in/throttle.ts'
import { hashToken } from '../sign-in/tokens.ts'
import { type StoredUser, userStore } from '../sign-in/user-store.ts'
import { linkRoutes } from './contract/session.ts'
import { controller, DONE, type Listener } from './controller.ts'
import { signIn } from './session.ts'

/** How a stranger becomes a user, and a user who has forgotten the password gets back in. */
export function linksApi(console: Console, listener: Listener) {
  const { clock, throttle } = console

  return controller('console-links', console, listener, linkRoutes, {
    'POST /api/signup': async ({ body, ...incoming }) => {
      const entry = await entryOf(console)
      if (!entry.signup) throw new ConsoleError('forbidden', 'Accounts are made by an administrator here')
      const email = storedEmail(body.email)
      throttle.take(['stranger-ip', placeOf(incoming.origin)])
      if (entry.smtp !== undefined) {
        throttle.take(['stranger-email', email])
        await beginSignup(console, email)
        return { next: 'mail_sent' as const, user: null }
      }
      if (body.password === undefined) throw invalid('password', 'Choose a password')
      const user = await signUp(console, email, body.password)
      return { next: 'signed_in' as const, ...(await signIn(console, user, incoming)) }
    },
    'POST /api/password-reset': async ({ body, origin }) => {
      const email = storedEmail(body.email)
      throttle.take(['stranger-ip', placeOf(origin)], ['stranger-email', email])
      // Not waited for: how long it takes would tell whether there is such a user.
      void requestReset(console, email).catch(error =>
        console.log.error({ err: error }, 'a new password could not be asked for'),
      )
      return DONE
    },
    'POST /api/links/inspect': async ({ body, origin }) => {
      throttle.take(['link-ip', placeOf(origin)])
      const link = await linkStore(console.database.orm).find(hashToken(body.token), new Date(clock.now()))
      if (link === undefined)
        throw new ConsoleError('not_found', 'This link was used already, or has expired')
      return { kind: link.kind, email: link.email, role: link.role, expires_at: link.expiresAt.toISOString() }
    },
    'POST /api/links/accept': async ({ body, ...incoming }) => {
      throttle.take(['link-ip', placeOf(incoming.origin)])
      const { ip } = incoming.origin
      const user = await acceptLink(console, { ...body, email: body.email, code: body.code, ip })
      return signIn(console, user, incoming)
    },
  })
}

/** Only the address's owner learns whether there was an account. */
async function beginSignup(console: Console, email: string): Promise<void> {
  const known = await userStore(console.database.orm).findByEmail(email)
  const terms = { kind: known === undefined ? 'signup' : 'password_reset', email, role: null } as const
  const { url } = await makeLink(linkMakerOf(console), console.database.orm, terms)
  // Not waited for: how long a mail takes would tell.
  void mailLink(console, email, terms.kind, url)
}

/** Without mail, nobody has shown that the address is theirs: an account that is there stays whose it is. */
async function signUp(console: Console, email: string, password: string): Promise<StoredUser> {
  const passwordHash = await console.passwords.hash(password)
  return console.database.orm.transaction(async tx => {
    if ((await accountStore({ orm: tx }).findAccountByEmail(email)) !== undefined) {
      throw new ConsoleError(
        'refused',
        'An account with this address cannot be made here: sign in, or ask an administrator for a link',
        {
          field: 'email',
        },
      )
    }
    return createUser(tx, { email, passwordHash, role: null })
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
  const { url } = await makeLink(linkMakerOf(console), console.database.orm, terms)
  void mailLink(console, email, 'password_reset', url)
}
