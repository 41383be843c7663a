import { within } from '@/clock/wait.ts'
import { pauseBeforeAttempt } from '@/db/connect.ts'
import { isAway, sqlErrorOf, UNIQUE_VIOLATION } from '@/db/sql-error.ts'
import type { Log } from '@/telemetry/log.ts'
import type { VideoGateway, VideoJob } from './store.ts'

/** What a job is kept with. */
export interface KeepDependencies extends Pick<VideoGateway, 'clock' | 'open'> {
  videos: Pick<VideoGateway['videos'], 'add'>
  log: Pick<Log, 'error'>
}

/** A database takes less to be back, or to be replaced by a copy of it; callers have mostly left by then. */
const PATIENCE_MS = 5 * 60 * 1000

/**
 * Stores a job that its maker has begun, with the hold of its order. While the database is away its caller waits, as long as
 * this process may: nobody else knows of the job, which is made all the same.
 * @throws what the store threw, where the database does not come back in time or does not take the job
 */
export async function keepJob(
  { videos, clock, log, open }: KeepDependencies,
  job: VideoJob,
  heldNano: bigint,
): Promise<void> {
  const { id, accountId, channel, upstreamId } = job
  const names = { job: id, account: accountId, channel, upstream_id: upstreamId }
  const until = clock.elapsed() + PATIENCE_MS
  const stop = Promise.withResolvers<true>()
  const place = open.whole.add({ interruption: { interrupt: () => stop.resolve(true) } })
  let isStopped: true | undefined
  try {
    for (let failures = 0; ; ) {
      try {
        return await videos.add(job, heldNano)
      } catch (error) {
        // An earlier one was stored, and only the answer was lost.
        if (failures > 0 && sqlErrorOf(error)?.code === UNIQUE_VIOLATION) return
        if (!isAway(error) || isStopped || clock.elapsed() >= until) {
          log.error({ err: error, ...names }, LOST)
          throw error
        }
        // Said before the wait, in whose middle this process may be killed.
        if (failures === 0) log.error({ err: error, ...names }, UNSTORED)
        failures += 1
        isStopped = await within(1_000 * pauseBeforeAttempt(failures), stop.promise, clock)
      }
    }
  } finally {
    open.whole.remove(place)
  }
}

const UNSTORED = 'a video that was ordered cannot be stored yet: its maker makes it, and the database is away'
const LOST = 'a video that was ordered could not be stored: its maker makes it, and no account pays for it'
