import { expect, test } from 'bun:test'
import { box } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { type VideoJob, type VideoNews, videoStore } from '@/exchange/videos/store.ts'

const database = await fileDatabase()
const videos = videoStore(database, box)

async function orderedJob(): Promise<VideoJob> {
  const job: VideoJob = {
    id: Bun.randomUUIDv7(),
    accountId: 1,
    keyId: 1,
    model: 'film',
    calledModel: 'film',
    channel: 'maker',
    channelFormat: 'openai-responses',
    channelKeyHash: undefined,
    upstreamModel: 'film',
    upstreamId: 'video_1',
    content: {
      terms: { prompt: 'a cat', seconds: 4, frame: { width: 720, height: 1280 }, samples: 1 },
      fault: undefined,
      files: [],
      answer: {},
    },
    state: 'queued',
    percent: 0,
    remixOf: undefined,
    orderedSeconds: 4,
    priceVersion: 1n,
    money: 'held',
    createdAt: new Date(),
    endedAt: undefined,
    keptUntil: undefined,
    deletedAt: undefined,
  }
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
