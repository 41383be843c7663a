import type { Clock } from '@/clock/clock.ts'
import { within } from '@/clock/wait.ts'

/** How long a caller waits for a database that does not answer, to be told to try again. */
const PATIENCE_MS = 2_000

/** The database did not answer in time. */
export class Late extends Error {
  override readonly name = 'Late'
}

/** What the database gives, if it does while a caller waits; the work goes on all the same. @throws Late, or what the work throws */
export async function inTime<Result>(work: Promise<Result>, clock: Pick<Clock, 'after'>): Promise<Result> {
  const answered = work.then(answer => ({ answer }))
  const given = await within(PATIENCE_MS, answered, clock)
  if (given === undefined) throw new Late(`the database gave no answer within ${PATIENCE_MS} ms`)
  return given.answer
}
