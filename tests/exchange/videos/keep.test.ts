import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { keepJob } from '@/exchange/videos/keep.ts'
import type { VideoJob } from '@/exchange/videos/store.ts'

const AWAY = Object.assign(new Error('no connection'), { code: 'ECONNREFUSED' })
const THERE = Object.assign(new Error('duplicate key'), { code: '23505' })
const REFUSED = Object.assign(new Error('a trigger says no'), { code: 'P0001' })

/** Keeps a job in a store that answers so, one try after the other, the last one from then on; a minute passes with each. */
async function keeping(...answers: readonly (Error | 'stored')[]) {
  const clock = manualClock()
  const logged: object[] = []
  let tries = 0
  const videos = {
    add: async () => {
      const answer = answers[Math.min(tries, answers.length - 1)]
      tries += 1
      if (answer instanceof Error) throw answer
    },
  }
  const log = { error: (line: object) => logged.push(line) }
  // The few members that are asked for.
  const dependencies = { videos, clock, log } as unknown as Parameters<typeof keepJob>[0]
  const job = { id: 'ours', accountId: 1, channel: 'sora', upstreamId: 'theirs' } as VideoJob
  let ended: string | undefined
  const kept = keepJob(dependencies, job, 7n).then(
    () => {
      ended = 'kept'
    },
    (error: Error) => {
      ended = error.message
    },
  )
  while (ended === undefined) {
    await new Promise(resolve => setImmediate(resolve))
    clock.advance(60_000)
  }
  await kept
  return { ended, tries, logged }
}

test('a film is kept as soon as the database is back', async () => {
  expect(await keeping(AWAY, AWAY, 'stored')).toEqual({ ended: 'kept', tries: 3, logged: [] })
})

test('one that was stored although the answer was lost is kept', async () => {
  expect(await keeping(AWAY, THERE)).toEqual({ ended: 'kept', tries: 2, logged: [] })
})

test.each([
  ['of another that has its id', THERE, 1],
  ['that the database does not take', REFUSED, 1],
  ['for which the database is away for five minutes', AWAY, 6],
])('one %s is told to the operator, with its name at its maker', async (_, error, tries) => {
  const told = { err: error, job: 'ours', account: 1, channel: 'sora', upstream_id: 'theirs' }
  expect(await keeping(error)).toEqual({ ended: error.message, tries, logged: [told] })
})
