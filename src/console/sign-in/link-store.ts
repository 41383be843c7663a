import { and, desc, eq, gt, inArray, isNull, lt, or, type SQL } from 'drizzle-orm'
import type { Rows } from '@/db/connect.ts'
import { consoleLink, consoleUser, type LinkKind, type Role } from '@/db/schema.ts'
import type { HashPlace } from '../paging.ts'

/** A one-time link; of its token there is only the hash. */
export type StoredLink = typeof consoleLink.$inferSelect

interface NewLink {
  tokenHash: Uint8Array
  kind: LinkKind
  email: string | null
  role: Role | null
  madeBy: number | null
  createdAt: Date
  expiresAt: Date
}

/** A link and the address of who handed it out; null: nobody who signs in. */
export interface OpenLink {
  link: StoredLink
  madeBy: string | null
}

/** The only SQL for one-time links. Moments are arguments; addresses are lower-cased. */
export function linkStore(rows: Rows) {
  return {
    async add(input: NewLink): Promise<void> {
      await rows.insert(consoleLink).values(input)
    },
    /** One that can still be used. */
    async find(tokenHash: Uint8Array, now: Date): Promise<StoredLink | undefined> {
      const [row] = await rows.select().from(consoleLink).where(usable(tokenHash, now))
      return row
    },
    /** Of several at once, one gets it. */
    async use(tokenHash: Uint8Array, now: Date): Promise<StoredLink | undefined> {
      const [row] = await rows
        .update(consoleLink)
        .set({ usedAt: now })
        .where(usable(tokenHash, now))
        .returning()
      return row
    },
    /** Invitations and links to a new password that can still be used, newest first, with who handed them out. */
    listOpen(
      now: Date,
      { after, limit }: { after: HashPlace | undefined; limit: number },
    ): Promise<OpenLink[]> {
      const { createdAt, tokenHash } = consoleLink
      const older =
        after === undefined
          ? undefined
          : or(lt(createdAt, after.at), and(eq(createdAt, after.at), lt(tokenHash, after.hash)))
      const handedOut = inArray(consoleLink.kind, ['invite', 'password_reset'])
      return rows
        .select({ link: consoleLink, madeBy: consoleUser.email })
        .from(consoleLink)
        .leftJoin(consoleUser, eq(consoleUser.id, consoleLink.madeBy))
        .where(and(isNull(consoleLink.usedAt), gt(consoleLink.expiresAt, now), handedOut, older))
        .orderBy(desc(createdAt), desc(tokenHash))
        .limit(limit)
    },
    /** False: it was used meanwhile, or is gone. */
    async remove(tokenHash: Uint8Array): Promise<boolean> {
      const removed = await rows
        .delete(consoleLink)
        .where(and(eq(consoleLink.tokenHash, tokenHash), isNull(consoleLink.usedAt)))
        .returning({ kind: consoleLink.kind })
      return removed.length > 0
    },
    /** Whatever else of these kinds is open for an address (null: for nobody yet) works no more. */
    async revoke(email: string | null, kinds: readonly LinkKind[]): Promise<void> {
      const whose = email === null ? isNull(consoleLink.email) : eq(consoleLink.email, email)
      for (const kind of kinds) {
        await rows
          .delete(consoleLink)
          .where(and(whose, eq(consoleLink.kind, kind), isNull(consoleLink.usedAt)))
      }
    },
    /** What an administrator handed out and nobody has used yet works no more. */
    async revokeMadeBy(userId: number): Promise<void> {
      await rows.delete(consoleLink).where(and(eq(consoleLink.madeBy, userId), isNull(consoleLink.usedAt)))
    },
    /** Those that were used as well. */
    async forget(email: string): Promise<void> {
      await rows.delete(consoleLink).where(eq(consoleLink.email, email))
    },
    async forgetExpired(now: Date): Promise<void> {
      await rows.delete(consoleLink).where(lt(consoleLink.expiresAt, now))
    },
  }
}

function usable(tokenHash: Uint8Array, now: Date): SQL | undefined {
  return and(eq(consoleLink.tokenHash, tokenHash), isNull(consoleLink.usedAt), gt(consoleLink.expiresAt, now))
}
