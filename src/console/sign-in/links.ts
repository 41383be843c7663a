import { storedEmail } from '@/accounts/email.ts'
import { accountStore } from '@/accounts/store.ts'
import type { Rows, Transaction } from '@/db/connect.ts'
import type { LinkKind, Role } from '@/db/schema.ts'
import { Refusal } from '@/errors/refusal.ts'
import { parseMoney } from '@/pricing/money.ts'
import { loadDefaults } from '@/routing/catalog/defaults.ts'
import { writeAct } from '../acts.ts'
import type { MadeLink } from '../api/contract/admin-links.ts'
import { type Console, entryOf } from '../deployment.ts'
import { ConsoleError, invalid } from '../failure.ts'
import { linkStore, type StoredLink } from './link-store.ts'
import { checkSecondFactor } from './second-factor.ts'
import { sessionStore } from './session-store.ts'
import { hasRank } from './sessions.ts'
import { hashToken, newToken } from './tokens.ts'
import { lockAdministrators, type StoredUser, userStore } from './user-store.ts'

const HOUR_MS = 3_600_000

const LIFETIMES: Record<LinkKind, number> = {
  first_owner: 24 * HOUR_MS,
  invite: 7 * 24 * HOUR_MS,
  password_reset: HOUR_MS,
  signup: 24 * HOUR_MS,
}

interface LinkTerms {
  kind: LinkKind
  /** Lower-cased; null only for `first_owner`. */
  email: string | null
  role: Role | null
  /** The administrator who hands it out; nobody: the console itself, or a command beside it. */
  madeBy?: number
}

/** Where links are made: by the console itself, or by a command beside it. */
interface LinkMaker {
  /** In ms. */
  now(): number
  /** What people are told, without a trailing slash. */
  publicUrl(): string
}

/** A link that was just made. */
export interface IssuedLink {
  url: string
  expiresAt: Date
}

/** A new link in the place of those of its kind for the same address. The token is behind the #, which no server sees. */
export async function makeLink(
  maker: LinkMaker,
  rows: Rows,
  { kind, email, role, madeBy }: LinkTerms,
): Promise<IssuedLink> {
  const token = newToken()
  const now = maker.now()
  const expiresAt = new Date(now + LIFETIMES[kind])
  const store = linkStore(rows)
  await store.revoke(email, [kind])
  await store.add({
    tokenHash: hashToken(token),
    kind,
    email,
    role,
    madeBy: madeBy ?? null,
    createdAt: new Date(now),
    expiresAt,
  })
  return { url: `${maker.publicUrl()}/link#${token}`, expiresAt }
}

/** The link that makes the first administrator; undefined: there is one. */
export async function firstOwnerLink(maker: LinkMaker, rows: Rows): Promise<IssuedLink | undefined> {
  if (await userStore(rows).hasAdministrator()) return undefined
  return makeLink(maker, rows, { kind: 'first_owner', email: null, role: 'owner' })
}

/** What makes the links of this console. */
export function linkMakerOf({ clock, publicUrl }: Console): LinkMaker {
  return { now: clock.now, publicUrl }
}

type MailedKind = Exclude<LinkKind, 'first_owner'>

/** Subjects, and what one opens the link for. */
const MAILS: Record<MailedKind, readonly [string, string]> = {
  invite: ['You are invited to Tollgate', 'accept the invitation'],
  password_reset: ['A new password for Tollgate', 'choose a new password'],
  signup: ['Your Tollgate account', 'choose a password for your new account'],
}

/** Mails a link if there is a server for it; false: whoever asked has to hand it over. A failure is only logged. */
export async function mailLink(
  console: Console,
  to: string,
  kind: MailedKind,
  url: string,
): Promise<boolean> {
  const [subject, purpose] = MAILS[kind]
  const text = `Open this link to ${purpose}, for ${to}:

${url}

It works once, and for ${inWords(LIFETIMES[kind])}. If you did not expect this mail, do nothing.
`
  try {
    const { smtp } = await entryOf(console)
    if (smtp === undefined) return false
    await console.sendMail(smtp, { to, subject, text })
    return true
  } catch (error) {
    console.log.warn({ err: error }, 'a mail could not be sent')
    return false
  }
}

/** Mails a link if it can, and what whoever made it is told of it. */
export async function handOver(
  console: Console,
  to: string,
  kind: MailedKind,
  { url, expiresAt }: IssuedLink,
): Promise<MadeLink> {
  return { url, expires_at: expiresAt.toISOString(), mailed: await mailLink(console, to, kind, url) }
}

function inWords(ms: number): string {
  const hours = ms / HOUR_MS
  if (hours === 1) return 'an hour'
  return hours <= 24 ? `${hours} hours` : `${hours / 24} days`
}

interface Acceptance {
  token: string
  password: string
  /** Only for `first_owner`. */
  email: string | undefined
  /** The second factor of a user who has one. */
  code: string | undefined
  ip: string | undefined
}

/**
 * Uses a link up: makes the user or gives it a new password, and the link's role.
 * @throws ConsoleError `not_found` for a link that is used, expired or none
 */
export async function acceptLink(console: Console, acceptance: Acceptance): Promise<StoredUser> {
  const passwordHash = await console.passwords.hash(acceptance.password)
  return console.database.orm.transaction(async tx => {
    const now = new Date(console.clock.now())
    const link = await linkStore(tx).use(hashToken(acceptance.token), now)
    if (link === undefined) throw unusable()
    const email = link.email ?? (acceptance.email && storedEmail(acceptance.email))
    if (email === undefined) throw invalid('email', 'Say which address you sign in with')
    if (link.role !== null) await lockAdministrators(tx)
    if (link.kind === 'first_owner' && (await userStore(tx).hasAdministrator())) throw unusable()
    const user = await settle(console, tx, link, email, { ...acceptance, passwordHash })
    if (link.role !== null) {
      const actor = { userId: user.id, email: user.email, ip: acceptance.ip }
      const after = { email: user.email, role: user.role }
      await writeAct(tx, actor, { action: 'user.accept', target: `user ${user.id}`, before: null, after })
    }
    return user
  })
}

async function settle(
  console: Console,
  tx: Transaction,
  link: StoredLink,
  email: string,
  { passwordHash, code }: Acceptance & { passwordHash: string },
): Promise<StoredUser> {
  const store = userStore(tx)
  const known = await store.findByEmail(email)
  if (known === undefined) {
    if (link.kind === 'password_reset') throw unusable()
    return createUser(tx, { email, passwordHash, role: link.role })
  }
  // A printed link proves a terminal and a sign-up proves an address: neither is a key to somebody's account.
  if (link.kind === 'signup' || link.kind === 'first_owner') {
    throw new ConsoleError('refused', 'There is a user with this address already: sign in instead')
  }
  if (known.status !== 'active') throw unusable()
  await checkSecondFactor(console, tx, known, code)
  const role = link.role !== null && !hasRank(known.role, link.role) ? link.role : known.role
  const changed = await store.change(known.id, { passwordHash, role, resetRequestedAt: null })
  // After the change: from it on nobody signs in by the old way.
  await sessionStore(tx).endAll(known.id)
  await linkStore(tx).revoke(email, ['password_reset', 'invite'])
  return changed ?? known
}

/** A user on the account of its address, which is made with the trial credit if there is none. */
export async function createUser(
  tx: Transaction,
  { email, passwordHash, role }: { email: string; passwordHash: string; role: Role | null },
): Promise<StoredUser> {
  const accounts = accountStore({ orm: tx })
  const known = await accounts.findAccountByEmail(email)
  const { trialCredit } = await loadDefaults({ orm: tx })
  const account =
    known === undefined
      ? await accounts.createAccount({
          email,
          creditNano: parseMoney(trialCredit) ?? 0n,
          onTrial: true,
          models: [],
        })
      : await accounts.lockAccount(known.id)
  if (account.status === 'closed')
    throw new Refusal('The account of this address is closed: ask an administrator to reopen it')
  if ((await userStore(tx).findByAccount(account.id)) !== undefined) {
    throw new Refusal('Somebody signs in for this account already: ask an administrator who')
  }
  return userStore(tx).create({ email, passwordHash, role, accountId: account.id })
}

function unusable(): ConsoleError {
  return new ConsoleError('not_found', 'This link was used already, or has expired')
}
