import { pause } from '@/clock/wait.ts'
import { pauseBeforeAttempt } from '@/db/connect.ts'
import { isAway, sqlErrorOf, UNIQUE_VIOLATION } from '@/db/sql-error.ts'
import type { VideoGateway, VideoJob } from './store.ts'

/** What a job is kept with. */
export type KeepDependencies = Pick<VideoGateway, 'videos' | 'clock' | 'log'>

/** A database takes less to be back, or to be replaced by a copy of it; callers have mostly left by then. */
const PATIENCE_MS = 5 * 60 * 1000

/**
 * Stores a job that its maker has begun, with the hold of its order. While the database is away its caller waits: nobody else
 * knows of the job, which is made all the same.
 * @throws what the store threw, where the database does not come back in time or does not take the job
 */
export async function keepJob(
  { videos, clock, log }: KeepDependencies,
  job: VideoJob,
  heldNano: bigint,
): Promise<void> {
  const until = clock.elapsed() + PATIENCE_MS
  for (let failures = 0; ; ) {
    try {
      return await videos.add(job, heldNano)
    } catch (error) {
      // An earlier one was stored, and only the answer was lost.
      if (failures > 0 && sqlErrorOf(error)?.code === UNIQUE_VIOLATION) return
      if (!isAway(error) || clock.elapsed() >= until) {
        const { id, accountId, channel, upstreamId } = job
        log.error({ err: error, job: id, account: accountId, channel, upstream_id: upstreamId }, LOST)
        throw error
      }
      failures += 1
      await pause(1_000 * pauseBeforeAttempt(failures), clock)
    }
  }
}

const LOST = 'a video that was ordered could not be stored: its maker makes it, and no account pays for it'
