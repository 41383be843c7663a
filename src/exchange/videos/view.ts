import { dialectOf } from '@/exchange/operations/dialect.ts'
import { encodeOperation } from '@/formats/gemini-generate-content/videos.ts'
import { encodeVideo } from '@/formats/openai/videos.ts'
import type { JsonObject } from '@/json/json.ts'
import type { VideoJob } from './store.ts'

/** Whose client asks. */
export type VideoDialect = 'openai' | 'gemini'

/** What a caller calls a job. The id is the job's own, spelled as each vendor's ids are. */
export function videoIdOf(id: string): string {
  return `video_${hexOf(id)}`
}

/** The job that a caller means; undefined for what is no id of ours. */
export function readVideoId(text: string): string | undefined {
  return uuidOf(/^video_([\da-f]{32})$/.exec(text)?.[1])
}

/** The name of a job as an operation of Google's. */
function operationNameOf({ id, calledModel }: Pick<VideoJob, 'id' | 'calledModel'>): string {
  return `models/${calledModel}/operations/${hexOf(id)}`
}

/** The job of an operation's last segment. */
export function readOperationId(text: string): string | undefined {
  return uuidOf(/^([\da-f]{32})$/.exec(text)?.[1])
}

/** The job and the film that a file's id names. Google's SDK takes an id for letters and digits. */
export function readFileId(text: string): { id: string; index: number } | undefined {
  const [, hex, index] = /^([\da-f]{32})(?:n(\d{1,2}))?$/.exec(text) ?? []
  const id = uuidOf(hex)
  return id === undefined ? undefined : { id, index: Number(index ?? 0) }
}

function fileIdOf(id: string, index: number): string {
  return index === 0 ? hexOf(id) : `${hexOf(id)}n${index}`
}

function hexOf(id: string): string {
  return id.replaceAll('-', '')
}

function uuidOf(hex: string | undefined): string | undefined {
  return hex?.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** A job as one of a vendor's clients reads it; `origin` is where callers reach this gateway. */
export function viewOf(job: VideoJob, dialect: VideoDialect, origin: string): JsonObject {
  const { content } = job
  const upstream = dialectOf(job.channelFormat) === dialect ? content.answer : {}
  const { state, percent } = job
  if (dialect === 'gemini') {
    const name = operationNameOf(job)
    return encodeOperation({ name, state, fault: content.fault }, fileUris(job, origin), upstream)
  }
  return encodeVideo(
    {
      id: videoIdOf(job.id),
      model: job.calledModel,
      terms: content.terms,
      state,
      percent,
      fault: content.fault,
      createdAt: secondsOf(job.createdAt),
      endedAt: job.endedAt && secondsOf(job.endedAt),
      keptUntil: job.keptUntil && secondsOf(job.keptUntil),
      remixOf: job.remixOf && videoIdOf(job.remixOf),
    },
    upstream,
  )
}

function fileUris({ id, state, content }: VideoJob, origin: string): string[] {
  if (state !== 'completed') return []
  const films = Math.max(1, content.files.length)
  return Array.from(
    { length: films },
    (_, index) => `${origin}/v1beta/files/${fileIdOf(id, index)}:download?alt=media`,
  )
}

function secondsOf(moment: Date): number {
  return Math.floor(moment.getTime() / 1000)
}
