import { beforeEach, describe, expect, test } from 'bun:test'
import { box } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { systemClock } from '@/clock/clock.ts'
import { BackgroundRun } from '@/exchange/responses/background-run.ts'
import { responseStore } from '@/stored-responses/store.ts'
import type { StoredEvent } from '@/stored-responses/stored-response.ts'
import { createLog } from '@/telemetry/log.ts'

const log = createLog({ level: 'silent', format: 'json' })

const database = await fileDatabase()
const store = responseStore({ database, secretBox: box })
/** What comes of the next write of a run; of those after it nothing worse than usual. */
let trouble: 'away' | 'answer lost' | undefined
let runs = 0

beforeEach(() => {
  trouble = undefined
})

/** A response that runs, over a database that has trouble at most once. */
async function begin(): Promise<{ run: BackgroundRun; key: { accountId: number; id: string } }> {
  runs += 1
  const key = { accountId: 1, id: `resp_${runs}` }
  const troubled = async <Result>(write: () => Promise<Result>): Promise<Result> => {
    const now = trouble
    trouble = undefined
    if (now === 'away') throw new Error('the database is away')
    const result = await write()
    if (now === 'answer lost') throw new Error('the connection was lost before the answer came')
    return result
  }
  await store.add({
    ...key,
    previousId: undefined,
    status: 'queued',
    background: true,
    model: 'm',
    input: [],
    response: '{"output":[]}',
    events: [],
    createdAt: Date.now(),
  })
  const run = new BackgroundRun(key.id, {
    store: {
      append: (id, events) => troubled(() => store.append(id, events)),
      finish: (id, end) => troubled(() => store.finish(id, end)),
    },
    clock: inNoTime(),
    log,
    announce: () => {},
  })
  return { run, key }
}

/** A clock on which all that is waited for comes at once, and how long was waited on it in all. */
function inNoTime() {
  return {
    waitedMs: 0,
    after(ms: number, task: () => void) {
      this.waitedMs += ms
      return systemClock.after(0, task)
    },
  }
}

const event = (number: number): StoredEvent => ({ number, data: `{"sequence_number":${number}}` })
const COMPLETED = { status: 'completed', response: '{"output":["all"]}' } as const

describe.each(['away', 'answer lost'] as const)('while the database is: %s', kind => {
  test('no event of a response is lost, nor there twice', async () => {
    const { run, key } = await begin()
    run.event(event(0))
    run.event(event(1))
    trouble = kind
    await run.flush()
    run.event(event(2))
    await run.end(COMPLETED)
    expect(await store.eventsAfter(key, -1)).toEqual([0, 1, 2].map(event))
  })

  test('events behind which nothing more comes are there with the end', async () => {
    const { run, key } = await begin()
    run.event(event(0))
    trouble = kind
    await run.end(COMPLETED)
    expect(await store.eventsAfter(key, -1)).toEqual([event(0)])
  })

  test('a response still ends, once and as it did', async () => {
    const { run, key } = await begin()
    run.event(event(0))
    await run.flush()
    trouble = kind
    await run.end(COMPLETED)
    await run.ended
    await run.fail('server_error', 'too late')
    expect(await store.find(key)).toMatchObject({ status: 'completed', response: COMPLETED.response })
  })
})

test('an end that no database takes is tried for half a minute, and given up', async () => {
  const clock = inNoTime()
  let tries = 0
  const finish = () => {
    tries += 1
    return Promise.reject(new Error('the database is away'))
  }
  const run = new BackgroundRun('resp', { store: { ...store, finish }, clock, log, announce: () => {} })
  await run.end(COMPLETED)
  await run.ended
  expect([tries, clock.waitedMs]).toEqual([30, 30_000])
})
