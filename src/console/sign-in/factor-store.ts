import { and, eq, lt } from 'drizzle-orm'
import type { Rows } from '@/db/connect.ts'
import { consoleUser, recoveryCode } from '@/db/schema.ts'

/** The only SQL for what was used of a second factor, each once. */
export function factorStore(rows: Rows) {
  return {
    /** True once for each time step: a code of a step that was used, or of one before, is refused. */
    async useTotpStep(id: number, step: number): Promise<boolean> {
      const used = await rows
        .update(consoleUser)
        .set({ totpStep: step })
        .where(and(eq(consoleUser.id, id), lt(consoleUser.totpStep, step)))
        .returning({ id: consoleUser.id })
      return used.length > 0
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
