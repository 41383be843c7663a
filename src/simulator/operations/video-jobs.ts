import { dropOldest } from '@/clock/oldest.ts'
import type { JsonObject } from '@/json/json.ts'
import { Failure } from '@/simulator/failure.ts'

/** A video in the making. It moves on by one state each time somebody looks: queued, in progress, done. */
export interface VideoJob {
  id: string
  model: string
  prompt: string
  seconds: string
  size: string
  createdSeconds: number
  remixedFrom: string | null
  /** How often it was looked at. */
  looks: number
  /** True: it ends refused (`refuse`). */
  refused: boolean
}

const MOST_JOBS = 1000

/** The videos of one simulator, in memory, the oldest forgotten first. */
export function createVideoJobs() {
  const jobs = new Map<string, VideoJob>()
  /** A 404 when there is none. */
  const find = (id: string): VideoJob => {
    const job = jobs.get(id)
    if (job === undefined) throw new Failure(404, `Video with id '${id}' not found.`, { code: 'not_found' })
    return job
  }
  return {
    find,
    start(job: VideoJob): VideoJob {
      jobs.set(job.id, job)
      dropOldest(jobs, MOST_JOBS)
      return job
    },
    /** Finds a job and moves it on. */
    look(id: string): VideoJob {
      const job = find(id)
      job.looks++
      return job
    },
    remove(id: string): void {
      find(id)
      jobs.delete(id)
    },
    all: () => [...jobs.values()],
  }
}

/** True from the second look on. */
export function isDone(job: VideoJob): boolean {
  return job.looks >= 2
}

/** OpenAI's video object. */
export function openaiVideo(job: VideoJob): JsonObject {
  const done = isDone(job)
  const status = done ? (job.refused ? 'failed' : 'completed') : job.looks === 0 ? 'queued' : 'in_progress'
  return {
    id: job.id,
    object: 'video',
    created_at: job.createdSeconds,
    status,
    model: job.model,
    progress: done ? 100 : job.looks * 50,
    prompt: job.prompt,
    seconds: job.seconds,
    size: job.size,
    completed_at: done ? job.createdSeconds : null,
    expires_at: done ? job.createdSeconds + 86_400 : null,
    error:
      status === 'failed'
        ? { code: 'moderation_blocked', message: 'The simulator refused this prompt.' }
        : null,
    remixed_from_video_id: job.remixedFrom,
  }
}

/** Google's operation; `done` is absent until it is. */
export function geminiOperation(job: VideoJob, origin: string): JsonObject {
  const name = `models/${job.model}/operations/${job.id}`
  if (!isDone(job)) return { name }
  const videos = job.refused
    ? { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['The simulator refused this prompt.'] }
    : { generatedSamples: [{ video: { uri: `${origin}/v1beta/files/${job.id}:download?alt=media` } }] }
  return { name, done: true, response: { generateVideoResponse: videos } }
}
