import type { Transaction } from '@/db/connect.ts'
import type { Role } from '@/db/schema.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError } from '../failure.ts'
import { type StoredSession, sessionStore } from './session-store.ts'
import type { Throttled } from './throttle.ts'
import { hashToken, newToken } from './tokens.ts'
import { type StoredUser, userStore } from './user-store.ts'

/** Who is signed in, and where. */
export interface SignedIn {
  sessionId: number
  user: StoredUser
}

/** Where a request comes from. */
export interface Origin {
  ip: string | undefined
  /** The `User-Agent`. */
  agent: string
}

const DAY_MS = 86_400_000
/** However much it is used. */
const LIFETIME_MS = 30 * DAY_MS
/** Without being used. */
const IDLE_MS = 7 * DAY_MS
const TOUCH_MS = 60_000

/**
 * Signs a user in; the answer is the cookie that is the session.
 * @throws ConsoleError `wrong_credentials` for a user whose way in has changed since it was shown to be theirs: that
 * ended all sessions, and this would be one more of the old way
 */
export async function openSession(console: Console, user: StoredUser, origin: Origin): Promise<string> {
  const token = newToken()
  const now = console.clock.now()
  await console.database.orm.transaction(async tx => {
    const found = await userStore(tx).lock(user.id)
    if (found === undefined || !isSameWayIn(found, user)) {
      throw new ConsoleError('wrong_credentials', 'The way to sign in has just changed: try again')
    }
    const store = sessionStore(tx)
    const id = await store.add({
      tokenHash: hashToken(token),
      userId: user.id,
      createdAt: new Date(now),
      seenAt: new Date(now),
      expiresAt: new Date(now + LIFETIME_MS),
      ip: origin.ip ?? null,
      agent: describeAgent(origin.agent),
    })
    await store.touch(id, user.id, new Date(now))
  })
  return cookie(console, token, LIFETIME_MS / 1000)
}

/**
 * Who is signed in as they are now, for a change of the way in: nobody else makes one until the end of the transaction.
 * @throws ConsoleError `unauthenticated` where the session has ended since, perhaps to shut out who asks for the change
 */
export async function lockSignedIn(tx: Transaction, { sessionId, user }: SignedIn): Promise<StoredUser> {
  const locked = await userStore(tx).lock(user.id)
  if (locked === undefined || !(await sessionStore(tx).isThere(sessionId))) throw signInFirst()
  return locked
}

/** Nobody is signed in, or not any more. */
export function signInFirst(): ConsoleError {
  return new ConsoleError('unauthenticated', 'Sign in first')
}

/**
 * Makes sure that whoever is signed in knows the password. `field` is the one that has it.
 * @throws ConsoleError `wrong_credentials`, `rate_limited`
 */
export async function confirmPassword(
  { passwords, throttle }: Console,
  { id, passwordHash }: StoredUser,
  password: string,
  field: string,
): Promise<void> {
  const attempt: Throttled = ['sign-in', `user ${id}`]
  throttle.take(attempt)
  if (!(await passwords.verify(password, passwordHash))) {
    throw new ConsoleError('wrong_credentials', 'The password is wrong', { field })
  }
  throttle.giveBack(attempt)
}

function isSameWayIn(one: StoredUser, other: StoredUser): boolean {
  return one.passwordHash === other.passwordHash && (one.totpSecret === null) === (other.totpSecret === null)
}

/** The cookie that takes the session out of the browser. */
export function endedCookie(console: Console): string {
  return cookie(console, '', 0)
}

/** Who sent the request; undefined: nobody who is signed in. The session is in use by it. */
export async function findSession(console: Console, request: Request): Promise<SignedIn | undefined> {
  const found = await readSession(console, request)
  if (found === undefined) return undefined
  const { session, user } = found
  const now = console.clock.now()
  if (session.seenAt.getTime() + TOUCH_MS <= now) {
    await sessionStore(console.database.orm).touch(session.id, user.id, new Date(now))
  }
  return { sessionId: session.id, user }
}

/** Whether who sent the request is signed in still, with this role at least; null: whatever the role. */
export async function isStillSignedIn(
  console: Console,
  request: Request,
  least: Role | null,
): Promise<boolean> {
  const found = await readSession(console, request)
  return found !== undefined && (least === null || hasRank(found.user.role, least))
}

/** Where a user is signed in, newest first. */
export function listSessions({ database, clock }: Console, userId: number): Promise<StoredSession[]> {
  const now = clock.now()
  return sessionStore(database.orm).list(userId, new Date(now), new Date(now - IDLE_MS))
}

async function readSession(console: Console, request: Request) {
  const token = readCookie(request.headers.get('cookie') ?? '', cookieName(console))
  if (token === undefined) return undefined
  const found = await sessionStore(console.database.orm).find(hashToken(token))
  if (found === undefined || found.user.status !== 'active') return undefined
  const now = console.clock.now()
  const { expiresAt, seenAt } = found.session
  return expiresAt.getTime() <= now || seenAt.getTime() + IDLE_MS <= now ? undefined : found
}

const RANKS: Record<Role, number> = { read_only: 1, admin: 2, owner: 3 }

/** Whether a role may do what is asked of this role at least. */
export function hasRank(role: Role | null, least: Role): boolean {
  return role !== null && RANKS[role] >= RANKS[least]
}

/** With TLS the browser itself sees to it that no other host and no plain connection sets it. */
function cookieName({ publicUrl }: Console): string {
  return publicUrl().startsWith('https:') ? '__Host-tollgate' : 'tollgate'
}

function cookie(console: Console, value: string, seconds: number): string {
  const secure = console.publicUrl().startsWith('https:') ? '; Secure' : ''
  return `${cookieName(console)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`
}

function readCookie(header: string, name: string): string | undefined {
  for (const part of header.split(';')) {
    const [key = '', value = ''] = part.trim().split('=', 2)
    if (key === name && value !== '') return value
  }
  return undefined
}

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
]

/** `Firefox on Linux`: enough to tell one's own browsers apart, and no more than that is kept. */
function describeAgent(agent: string): string {
  const find = (words: typeof BROWSERS) => words.find(([pattern]) => pattern.test(agent))?.[1]
  const browser = find(BROWSERS) ?? 'Another program'
  const system = find(SYSTEMS)
  return system === undefined ? browser : `${browser} on ${system}`
}
