import type { Clock } from './clock.ts'

/** What was waited for did not come in time. */
export class Late extends Error {
  override readonly name = 'Late'
}

/** What the work gives, if it does within `ms`; it goes on all the same. @throws Late, or what the work throws */
export async function inTime<Result>(
  work: Promise<Result>,
  ms: number,
  clock: Pick<Clock, 'after'>,
): Promise<Result> {
  const late = Promise.withResolvers<never>()
  const cancel = clock.after(ms, () => late.reject(new Late(`no answer within ${ms} ms`)))
  try {
    return await Promise.race([work, late.promise])
  } finally {
    cancel()
  }
}
