import { expect, test } from 'bun:test'
import { box } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { type VideoJob, type VideoNews, videoStore } from '@/exchange/videos/store.ts'
import { newJob } from './new-job.ts'

const database = await fileDatabase()
const videos = videoStore(database, box)

async function orderedJob(): Promise<VideoJob> {
  const job = newJob()
  await videos.add(job, 1n)
  return job
}

const news = ({ content }: VideoJob, state: VideoNews['state']): VideoNews => ({
  state,
  percent: state === 'completed' ? 100 : 50,
  content: { ...content, answer: { status: state } },
  keptUntil: undefined,
})

test.each([
  ['has seen nothing new', (job: VideoJob) => videos.postpone(job.id, 3_000, news(job, 'in_progress'))],
  ['takes it for failed', (job: VideoJob) => videos.end(job.id, news(job, 'failed'))],
])(
  'a film that one process saw finished stays so when another, which was stopped on its look, %s',
  async (_what, late) => {
    const job = await orderedJob()
    const finished = {
      state: 'completed' as const,
      percent: 100,
      content: { answer: { status: 'completed' } },
    }
    expect(await videos.end(job.id, news(job, 'completed'))).toMatchObject({ ...finished, money: 'held' })
    await late(job)
    expect(await videos.find(job.accountId, job.id)).toMatchObject({ ...finished, money: 'held' })
    await videos.close(job.id, 'charged')
    await late(job)
    expect(await videos.find(job.accountId, job.id)).toMatchObject({ ...finished, money: 'charged' })
  },
)
