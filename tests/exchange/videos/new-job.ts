import type { VideoJob } from '@/exchange/videos/store.ts'

/** A job that its maker has just begun, and that nobody has stored. */
export function newJob(): VideoJob {
  return {
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
}
