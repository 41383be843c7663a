import { expect, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { OpenExchanges } from '@/exchange/open-exchanges.ts'
import { keepJob } from '@/exchange/videos/keep.ts'
import { newJob } from './new-job.ts'

const AWAY = Object.assign(new Error('no connection'), { code: 'ECONNREFUSED' })
const THERE = Object.assign(new Error('duplicate key'), { code: '23505' })
const REFUSED = Object.assign(new Error('a trigger says no'), { code: 'P0001' })

const JOB = newJob()
const NAMES = { job: JOB.id, account: 1, channel: 'maker', upstream_id: 'video_1' }
const WAITS = expect.stringContaining('cannot be stored yet')
const LOST = expect.stringContaining('no account pays for it')

/** A store that answers so, one try after the other, the last one from then on, and what keeps a job in it. */
function keeper(answers: readonly (Error | 'stored')[]) {
  const clock = manualClock()
  const open = new OpenExchanges()
  const logged: unknown[] = []
  let tries = 0
  const videos = {
    add: async () => {
      const answer = answers[Math.min(tries, answers.length - 1)]
      tries += 1
      if (answer instanceof Error) throw answer
    },
  }
  const log = { error: (...told: unknown[]) => void logged.push(told) }
  const kept = keepJob({ videos, clock, log, open }, JOB, 7n).then(
    () => 'kept',
    (error: Error) => error.message,
  )
  return { clock, open, kept, logged, tries: () => tries }
}

/** Keeps a job so; a minute passes with each try. */
async function keeping(...answers: readonly (Error | 'stored')[]) {
  const { clock, open, kept, logged, tries } = keeper(answers)
  let ended: string | undefined
  void kept.then(how => {
    ended = how
  })
  while (ended === undefined) {
    await new Promise(resolve => setImmediate(resolve))
    clock.advance(60_000)
  }
  expect(open.whole.size).toBe(0)
  return { ended, tries: tries(), logged }
}

test('a film is kept as soon as the database is back', async () => {
  const logged = [[{ err: AWAY, ...NAMES }, WAITS]]
  expect(await keeping(AWAY, AWAY, 'stored')).toEqual({ ended: 'kept', tries: 3, logged })
})

test('one that was stored although the answer was lost is kept', async () => {
  const logged = [[{ err: AWAY, ...NAMES }, WAITS]]
  expect(await keeping(AWAY, THERE)).toEqual({ ended: 'kept', tries: 2, logged })
})

test.each([
  ['of another that has its id', THERE, 1, [LOST]],
  ['that the database does not take', REFUSED, 1, [LOST]],
  ['for which the database is away for five minutes', AWAY, 6, [WAITS, LOST]],
])('one %s is told to the operator, with its name at its maker', async (_, error, tries, told) => {
  const logged = told.map(message => [{ err: error, ...NAMES }, message])
  expect(await keeping(error)).toEqual({ ended: error.message, tries, logged })
})

test('its name at its maker is told before the wait, which a kill may end', async () => {
  const { logged, kept, clock } = keeper([AWAY, 'stored'])
  await new Promise(resolve => setImmediate(resolve))
  expect(logged).toEqual([[{ err: AWAY, ...NAMES }, WAITS]])
  clock.advance(60_000)
  expect(await kept).toBe('kept')
})

test('a stop of the gateway ends the wait, after one more try', async () => {
  const { logged, kept, open, tries } = keeper([AWAY])
  await new Promise(resolve => setImmediate(resolve))
  open.endWhole(new GatewayError('shutting_down', 'x'))
  expect(await kept).toBe(AWAY.message)
  expect(tries()).toBe(2)
  expect(logged.at(-1)).toEqual([{ err: AWAY, ...NAMES }, LOST])
})
