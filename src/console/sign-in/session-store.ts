import { and, desc, eq, gt, lt, ne } from 'drizzle-orm'
import type { Rows } from '@/db/connect.ts'
import { consoleSession, consoleUser } from '@/db/schema.ts'

/** Somebody signed in with one browser. */
export type StoredSession = typeof consoleSession.$inferSelect

/** The only SQL for sessions. Moments are arguments; of a token there is only its hash. */
export function sessionStore(rows: Rows) {
  return {
    async add(input: typeof consoleSession.$inferInsert): Promise<number> {
      const [row] = await rows.insert(consoleSession).values(input).returning({ id: consoleSession.id })
      if (row === undefined) throw new Error('insert returned nothing')
      return row.id
    },
    async find(tokenHash: Uint8Array) {
      const [row] = await rows
        .select({ session: consoleSession, user: consoleUser })
        .from(consoleSession)
        .innerJoin(consoleUser, eq(consoleUser.id, consoleSession.userId))
        .where(eq(consoleSession.tokenHash, tokenHash))
      return row
    },
    async isThere(id: number): Promise<boolean> {
      const [row] = await rows.select().from(consoleSession).where(eq(consoleSession.id, id))
      return row !== undefined
    },
    /** Those that were in use since, newest first. */
    list(userId: number, now: Date, seenSince: Date): Promise<StoredSession[]> {
      const isUsable = and(gt(consoleSession.expiresAt, now), gt(consoleSession.seenAt, seenSince))
      return rows
        .select()
        .from(consoleSession)
        .where(and(eq(consoleSession.userId, userId), isUsable))
        .orderBy(desc(consoleSession.id))
        .limit(100)
    },
    async touch(id: number, userId: number, now: Date): Promise<void> {
      await rows.update(consoleSession).set({ seenAt: now }).where(eq(consoleSession.id, id))
      await rows.update(consoleUser).set({ seenAt: now }).where(eq(consoleUser.id, userId))
    },
    /** False: the user has no such session. */
    async end(id: number, userId: number): Promise<boolean> {
      const ended = await rows
        .delete(consoleSession)
        .where(and(eq(consoleSession.id, id), eq(consoleSession.userId, userId)))
        .returning({ id: consoleSession.id })
      return ended.length > 0
    },
    async endAll(userId: number, exceptId?: number): Promise<void> {
      const others = exceptId === undefined ? undefined : ne(consoleSession.id, exceptId)
      await rows.delete(consoleSession).where(and(eq(consoleSession.userId, userId), others))
    },
    async forgetExpired(now: Date): Promise<void> {
      await rows.delete(consoleSession).where(lt(consoleSession.expiresAt, now))
    },
  }
}
