import { and, desc, eq, isNotNull, like, lt, ne, or, type SQL, sql } from 'drizzle-orm'
import type { Rows, Transaction } from '@/db/connect.ts'
import { patternOf } from '@/db/like.ts'
import { consoleUser, type Role } from '@/db/schema.ts'

/** Who signs in, with the hash of the password. */
export type StoredUser = typeof consoleUser.$inferSelect

/** The only SQL for users of the console. Moments are arguments; addresses are lower-cased. */
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
    /** Nobody changes it until the end of the transaction. */
    async lock(id: number): Promise<StoredUser | undefined> {
      const [row] = await rows.select().from(consoleUser).where(eq(consoleUser.id, id)).for('update')
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
    /** With the sessions, the recovery codes and the links that they handed out. */
    async remove(id: number): Promise<void> {
      await rows.delete(consoleUser).where(eq(consoleUser.id, id))
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
      status: StoredUser['status'] | 'waiting' | undefined
    }): Promise<StoredUser[]> {
      return rows
        .select()
        .from(consoleUser)
        .where(
          and(
            part.before === undefined ? undefined : lt(consoleUser.id, part.before),
            part.search === undefined ? undefined : like(consoleUser.email, patternOf(part.search)),
            ofRole(part.role),
            ofStatus(part.status),
          ),
        )
        .orderBy(desc(consoleUser.id))
        .limit(part.limit)
    },
  }
}

/** One change of who administers at a time, until the end of the transaction. */
export async function lockAdministrators(tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('tollgate_console_administrators'))`)
}

function ofRole(role: Role | 'any' | undefined): SQL | undefined {
  if (role === undefined) return undefined
  return role === 'any' ? or(isNotNull(consoleUser.role)) : eq(consoleUser.role, role)
}

/** `waiting`: asked for a link to a new password, and got none yet. */
function ofStatus(status: StoredUser['status'] | 'waiting' | undefined): SQL | undefined {
  if (status === undefined) return undefined
  return status === 'waiting' ? isNotNull(consoleUser.resetRequestedAt) : eq(consoleUser.status, status)
}
