import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type TestDatabase, testDatabase } from '#tests/support/database.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { Idempotency } from '@/exchange/idempotency/idempotency.ts'
import { type RunClaim, runStore } from '@/exchange/idempotency/idempotency-store.ts'
import { secretBox } from '@/secrets/secret-box.ts'
import { createLog } from '@/telemetry/log.ts'

let database: TestDatabase
let idempotency: Idempotency

beforeAll(async () => {
  database = await testDatabase()
  idempotency = new Idempotency({
    store: runStore(database),
    box: secretBox('a secret for tests, long enough for everybody'),
    clock: manualClock(),
    log: createLog({ level: 'silent', format: 'json' }),
  })
}, 60_000)
afterAll(async () => {
  await idempotency.close()
  await database.close()
})

const claim = (key: string): RunClaim => ({ accountId: 1, key, fingerprint: new Uint8Array(32) })
const caller = (signal?: AbortSignal) =>
  new Request('http://tollgate/', signal === undefined ? {} : { signal })

test('a request that broke off without an answer may be made again', async () => {
  const made: number[] = []
  const ask = (answer: () => Promise<Response>) =>
    idempotency.once(claim('broken'), caller(), () => {
      made.push(made.length)
      return { request: caller(), answer }
    })
  await expect(ask(() => Promise.reject(new Error('a bug')))).rejects.toThrow('a bug')
  const second = await ask(async () => Response.json({ said: 'this' }))
  expect(await second.json()).toEqual({ said: 'this' })
  expect(made).toHaveLength(2)
})

test('whoever leaves while another has the key gets no run of their own', async () => {
  const answer = Promise.withResolvers<Response>()
  const first = idempotency.once(claim('shared'), caller(), () => ({
    request: caller(),
    answer: () => answer.promise,
  }))
  const left = AbortSignal.abort()
  const second = idempotency.once(claim('shared'), caller(left), () => {
    throw new Error('it was run')
  })
  await expect(second).rejects.toMatchObject({ kind: 'client_closed' })
  answer.resolve(new Response('said'))
  expect(await (await first).text()).toBe('said')
})
