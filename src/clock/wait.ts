import type { Clock } from './clock.ts'

/** Resolves after so many ms. */
export function pause(ms: number, clock: Pick<Clock, 'after'>): Promise<void> {
  return ms > 0 ? new Promise(resolve => void clock.after(ms, resolve)) : Promise.resolve()
}

/** What the work gives; undefined if that takes longer than so many ms. The work goes on all the same. */
export async function within<Result>(
  ms: number,
  work: Promise<Result>,
  clock: Pick<Clock, 'after'>,
): Promise<Result | undefined> {
  const late = Promise.withResolvers<undefined>()
  const cancel = clock.after(ms, () => late.resolve(undefined))
  try {
    return await Promise.race([work, late.promise])
  } finally {
    cancel()
  }
}
