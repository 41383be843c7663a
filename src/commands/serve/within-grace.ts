import type { Clock } from '@/clock/clock.ts'

/** Resolves when `ended` does, or when it has had its time. */
export async function withinGrace(ended: Promise<void>, graceMs: number, clock: Clock): Promise<void> {
  const deadline = Promise.withResolvers<void>()
  const cancel = clock.after(graceMs, deadline.resolve)
  await Promise.race([ended, deadline.promise])
  cancel()
}
