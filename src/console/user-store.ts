import { and, desc, eq, gt, ilike, isNotNull, isNull, lt, ne, or, type SQL, sql } from 'drizzle-orm'
import type { Rows, Transaction } from '@/db/connect.ts'
import {
  consoleLink,
  consoleSession,
  consoleUser,
  type LinkKind,
  type Role,
  recoveryCode,
} from '@/db/schema.ts'

export type StoredUser = typeof consoleUser.$inferSelect
export type StoredSession = typeof consoleSession.$inferSelect
export type StoredLink = typeof consoleLink.$inferSelect

export interface NewLink {
  tokenHash: Uint8Array
  kind: LinkKind
  email: string | null
  role: Role | null
  createdAt: Date
  expiresAt: Date
}

/** The only SQL for users, sessions and links of the console. Moments are arguments; addresses are lower-cased. */
export function userStore(rows: Rows) {
  const changed = async (id: number, change: Partial<typeof consoleUser.$inferInsert>) => {
    const [row] = await rows.update(consoleUser).set(change).where(eq(consoleUser.id, id)).returning()
    return row
  }
  return {
    async find(id: number): Promise<StoredUser | undefined> {
      const [row] = await rows.select().from(consoleUser).where(eq(consoleUser.id, id))
      return row
    },
    async findByEmail(email: string): Promise<StoredUser | undefined> {
      const [row] = await rows.select().from(consoleUser).where(eq(consoleUser.email, email))
      return row
    },
    async findByAccount(accountId: number): Promise<StoredUser | undefined> {
      const [row] = await rows.select().from(consoleUser).where(eq(consoleUser.accountId, accountId))
      return row
    },
    /** By account. */
    async findOfAccounts(accountIds: readonly number[]): Promise<Map<number, StoredUser>> {
      if (accountIds.length === 0) return new Map()
      const found = await rows
        .select()
        .from(consoleUser)
        .where(sql`${consoleUser.accountId} = any(${`{${accountIds.join(',')}}`}::bigint[])`)
      return new Map(found.map(user => [user.accountId, user]))
    },
    async create(input: typeof consoleUser.$inferInsert): Promise<StoredUser> {
      const [row] = await rows.insert(consoleUser).values(input).returning()
      if (row === undefined) throw new Error('insert returned nothing')
      return row
    },
    change: changed,
    /** True once for each time step: a code of a step that was used, or of one before, is refused. */
    async useTotpStep(id: number, step: number): Promise<boolean> {
      const used = await rows
        .update(consoleUser)
        .set({ totpStep: step })
        .where(and(eq(consoleUser.id, id), lt(consoleUser.totpStep, step)))
        .returning({ id: consoleUser.id })
      return used.length > 0
    },
    async hasAdministrator(): Promise<boolean> {
      const [row] = await rows
        .select({ id: consoleUser.id })
        .from(consoleUser)
        .where(isNotNull(consoleUser.role))
        .limit(1)
      return row !== undefined
    },
    /** Whether somebody else is an owner who can sign in. */
    async hasOtherOwner(id: number): Promise<boolean> {
      const [row] = await rows
        .select({ id: consoleUser.id })
        .from(consoleUser)
        .where(and(eq(consoleUser.role, 'owner'), eq(consoleUser.status, 'active'), ne(consoleUser.id, id)))
        .limit(1)
      return row !== undefined
    },
    /** Newest first. */
    search(part: {
      before: number | undefined
      limit: number
      search: string | undefined
      role: Role | 'any' | undefined
    }): Promise<StoredUser[]> {
      return rows
        .select()
        .from(consoleUser)
        .where(
          and(
            part.before === undefined ? undefined : lt(consoleUser.id, part.before),
            part.search === undefined ? undefined : ilike(consoleUser.email, `%${literal(part.search)}%`),
            ofRole(part.role),
          ),
        )
        .orderBy(desc(consoleUser.id))
        .limit(part.limit)
    },

    async addSession(input: typeof consoleSession.$inferInsert): Promise<number> {
      const [row] = await rows.insert(consoleSession).values(input).returning({ id: consoleSession.id })
      if (row === undefined) throw new Error('insert returned nothing')
      return row.id
    },
    async findSession(tokenHash: Uint8Array) {
      const [row] = await rows
        .select({ session: consoleSession, user: consoleUser })
        .from(consoleSession)
        .innerJoin(consoleUser, eq(consoleUser.id, consoleSession.userId))
        .where(eq(consoleSession.tokenHash, tokenHash))
      return row
    },
    /** Those that were in use since, newest first. */
    listSessions(userId: number, now: Date, seenSince: Date): Promise<StoredSession[]> {
      const isUsable = and(gt(consoleSession.expiresAt, now), gt(consoleSession.seenAt, seenSince))
      return rows
        .select()
        .from(consoleSession)
        .where(and(eq(consoleSession.userId, userId), isUsable))
        .orderBy(desc(consoleSession.id))
        .limit(100)
    },
    async touchSession(id: number, userId: number, now: Date): Promise<void> {
      await rows.update(consoleSession).set({ seenAt: now }).where(eq(consoleSession.id, id))
      await rows.update(consoleUser).set({ seenAt: now }).where(eq(consoleUser.id, userId))
    },
    /** False: the user has no such session. */
    async endSession(id: number, userId: number): Promise<boolean> {
      const ended = await rows
        .delete(consoleSession)
        .where(and(eq(consoleSession.id, id), eq(consoleSession.userId, userId)))
        .returning({ id: consoleSession.id })
      return ended.length > 0
    },
    async endSessions(userId: number, exceptId?: number): Promise<void> {
      const others = exceptId === undefined ? undefined : ne(consoleSession.id, exceptId)
      await rows.delete(consoleSession).where(and(eq(consoleSession.userId, userId), others))
    },
    async forgetExpired(now: Date): Promise<void> {
      await rows.delete(consoleSession).where(lt(consoleSession.expiresAt, now))
      await rows.delete(consoleLink).where(lt(consoleLink.expiresAt, now))
    },

    async addLink(input: NewLink): Promise<void> {
      await rows.insert(consoleLink).values(input)
    },
    /** One that can still be used. */
    async findLink(tokenHash: Uint8Array, now: Date): Promise<StoredLink | undefined> {
      const [row] = await rows.select().from(consoleLink).where(usable(tokenHash, now))
      return row
    },
    /** Of several at once, one gets it. */
    async useLink(tokenHash: Uint8Array, now: Date): Promise<StoredLink | undefined> {
      const [row] = await rows
        .update(consoleLink)
        .set({ usedAt: now })
        .where(usable(tokenHash, now))
        .returning()
      return row
    },
    /** Whatever else of these kinds is open for an address (null: for nobody yet) works no more. */
    async voidLinks(email: string | null, kinds: readonly LinkKind[]): Promise<void> {
      const whose = email === null ? isNull(consoleLink.email) : eq(consoleLink.email, email)
      for (const kind of kinds) {
        await rows
          .delete(consoleLink)
          .where(and(whose, eq(consoleLink.kind, kind), isNull(consoleLink.usedAt)))
      }
    },

    async setRecoveryCodes(userId: number, hashes: readonly Uint8Array[]): Promise<void> {
      await rows.delete(recoveryCode).where(eq(recoveryCode.userId, userId))
      if (hashes.length === 0) return
      await rows.insert(recoveryCode).values(hashes.map(codeHash => ({ userId, codeHash })))
    },
    /** True once for each code. */
    async useRecoveryCode(userId: number, codeHash: Uint8Array): Promise<boolean> {
      const used = await rows
        .delete(recoveryCode)
        .where(and(eq(recoveryCode.userId, userId), eq(recoveryCode.codeHash, codeHash)))
        .returning({ userId: recoveryCode.userId })
      return used.length > 0
    },
  }
}

/** One change of who administers at a time, until the end of the transaction. */
export async function lockAdministrators(tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('tollgate_console_administrators'))`)
}

function usable(tokenHash: Uint8Array, now: Date): SQL | undefined {
  return and(eq(consoleLink.tokenHash, tokenHash), isNull(consoleLink.usedAt), gt(consoleLink.expiresAt, now))
}

function ofRole(role: Role | 'any' | undefined): SQL | undefined {
  if (role === undefined) return undefined
  return role === 'any' ? or(isNotNull(consoleUser.role)) : eq(consoleUser.role, role)
}

/** Text that means itself in a pattern. */
function literal(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[\\%_]/g, '\\$&')
}
