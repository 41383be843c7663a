import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { box } from '#tests/support/secret.ts'
import { type TestDatabase, testDatabase } from '#tests/support/stores/database.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { Idempotency } from '@/exchange/idempotency/idempotency.ts'
import { type RunClaim, type RunStore, runStore } from '@/exchange/idempotency/store.ts'
import { createLog } from '@/telemetry/log.ts'

let database: TestDatabase
let idempotency: Idempotency
let store: RunStore
const clock = manualClock()
/** What the ledger was told to give back. */
const givenBack: string[] = []

beforeAll(async () => {
  database = await testDatabase()
  store = runStore(database)
  idempotency = new Idempotency({
    store,
    ledger: {
      giveBack: async (exchanges: readonly { id: string }[]) =>
        void givenBack.push(...exchanges.map(({ id }) => id)),
    },
    box,
    clock,
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

test('a stored answer that the database does not give is a failure, and no answer that breaks off', async () => {
  const ask = () =>
    idempotency.once(claim('unreadable'), caller(), () => ({
      request: caller(),
      answer: async () => new Response('said'),
    }))
  expect(await (await ask()).text()).toBe('said')
  const chunks = spyOn(store, 'chunks').mockRejectedValueOnce(new Error('away'))
  await expect(ask()).rejects.toThrow('away')
  expect(await (await ask()).text()).toBe('said')
  chunks.mockRestore()
})

test('whoever waits for an answer that breaks off before it began makes the request anew', async () => {
  const [claims, looks] = [spyOn(store, 'claim'), spyOn(store, 'find')]
  /** So many answers of the database have been taken in. */
  const answered = async (spy: typeof claims | typeof looks, count: number) => {
    await until(() => spy.mock.calls.length === count)
    await Promise.allSettled(spy.mock.results.map(({ value }) => value))
    await new Promise<void>(resolve => setImmediate(resolve))
  }
  const answer = Promise.withResolvers<Response>()
  const ask = (said: Promise<Response>) =>
    idempotency.once(claim('waited-for'), caller(), () => ({ request: caller(), answer: () => said }))
  const first = ask(answer.promise)
  await answered(claims, 1)
  const second = ask(Promise.resolve(new Response('said')))
  await answered(claims, 2)
  clock.advance(100)
  await answered(looks, 1)
  answer.reject(new Error('a bug'))
  await expect(first).rejects.toThrow('a bug')
  clock.advance(100)
  expect(await (await second).text()).toBe('said')
  for (const spy of [claims, looks]) spy.mockRestore()
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

test('whoever takes long keeps the key, as the lease is renewed every two seconds', async () => {
  const answer = Promise.withResolvers<Response>()
  const begun = Promise.withResolvers<void>()
  const asked = idempotency.once(claim('long'), caller(), () => {
    begun.resolve()
    return { request: caller(), answer: () => answer.promise }
  })
  await begun.promise
  await database.sql`update idempotent_run set leased_until = now() + interval '1 second' where key = 'long'`
  const leasedSeconds = async () => {
    const [run] = await database.sql<{ left: number }[]>`
      select extract(epoch from leased_until - now())::float8 as left from idempotent_run where key = 'long'`
    return run?.left ?? 0
  }
  clock.advance(2000)
  await until(async () => (await leasedSeconds()) > 5)
  expect(await leasedSeconds()).toBeLessThanOrEqual(10)
  answer.resolve(new Response('said'))
  expect(await (await asked).text()).toBe('said')
})

test('is quiet when the last answer is there that is fetched for nobody but a retry', async () => {
  const left = new AbortController()
  const answer = Promise.withResolvers<Response>()
  const begun = Promise.withResolvers<void>()
  const asked = idempotency.once(claim('left'), caller(left.signal), () => {
    begun.resolve()
    return { request: caller(), answer: () => answer.promise }
  })
  await begun.promise
  left.abort()
  let isQuiet = false
  const quiet = idempotency.quiet().then(() => {
    isQuiet = true
  })
  await new Promise(resolve => setImmediate(resolve))
  expect(isQuiet).toBe(false)
  answer.resolve(new Response('said'))
  await asked
  await quiet
})

test('of an answer that cannot be given again no byte is kept', async () => {
  const id = Bun.randomUUIDv7()
  expect(await store.claim(id, claim('unkept'), true)).toBe('begun')
  await store.append(id, { seq: 0, content: Buffer.from('the beginning of it'), ending: undefined })
  await store.end(id, { state: 'unkept', head: undefined, last: undefined })
  expect(await store.find(id)).toMatchObject({ state: 'unkept' })
  expect(await store.chunks(id, 0)).toEqual([])
})

test('an answer is kept for a day from its beginning, and what failed for a minute from its end', async () => {
  for (const [state, seconds] of [
    ['complete', 86_400],
    ['failed', 60],
  ] as const) {
    const id = Bun.randomUUIDv7()
    expect(await store.claim(id, claim(`kept-${state}`), true)).toBe('begun')
    await store.end(id, { state, head: { status: 200, headers: {} }, last: undefined })
    const [run] = await database.sql<{ left: number }[]>`
      select extract(epoch from expires_at - now())::float8 as left from idempotent_run where id = ${id}`
    expect(run?.left).toBeWithin(seconds - 30, seconds + 1)
  }
})

test('an answer is read in its order, four stretches at a time', async () => {
  const id = Bun.randomUUIDv7()
  expect(await store.claim(id, claim('in-order'), true)).toBe('begun')
  for (const seq of [4, 3, 2, 1, 0])
    await store.append(id, { seq, content: Buffer.from('x'), ending: undefined })
  const seqs = async (from: number) => (await store.chunks(id, from)).map(({ seq }) => seq)
  expect([await seqs(0), await seqs(4)]).toEqual([[0, 1, 2, 3], [4]])
})

/** Begins a run whose process dies. */
async function dieOn(of: RunClaim): Promise<string> {
  const id = Bun.randomUUIDv7()
  expect(await store.claim(id, of, true)).toBe('begun')
  await database.sql`update idempotent_run set leased_until = now() - interval '1 second' where id = ${id}`
  return id
}

test('what a dead run was charged is given back once the retry runs in its place, for a day', async () => {
  const [retried, left, other, late] = await Promise.all(
    ['retried', 'left', 'other', 'late'].map(key => dieOn(claim(`dead-${key}`))),
  )
  await database.sql`update idempotent_run set expires_at = now() - interval '1 second' where id = ${`${late}`}`
  for (const key of ['retried', 'late'])
    expect(await store.claim(Bun.randomUUIDv7(), claim(`dead-${key}`), true)).toBe('begun')
  const another = { ...claim('dead-other'), fingerprint: new Uint8Array(32).fill(1) }
  expect(await store.claim(Bun.randomUUIDv7(), another, true)).toBe('begun')

  clock.advance(60_000)
  await until(() => givenBack.length > 0)
  expect(givenBack.filter(id => [retried, left, other, late].includes(id))).toEqual([`${retried}`])
  // Some of it may be posted hours later.
  await store.sweep()
  expect(await store.takenOver()).toEqual([{ id: `${retried}`, accountId: 1 }])
})

test.each(['a process begins', 'the database is back', 'the clock of the database was set forward'])(
  'once %s, the key of a run that was not renewed is free when its process has had the time to be heard, and not before',
  async what => {
    const own = manualClock()
    const key = `silent since ${what}`
    await dieOn(claim(key))
    const log = createLog({ level: 'silent', format: 'json' })
    const once = new Idempotency({ store, ledger: { giveBack: async () => {} }, box, clock: own, log })
    const renewals = spyOn(store, 'renew')
    const asks = [spyOn(store, 'claim'), spyOn(store, 'find')]
    let ahead = 0
    renewals.mockImplementation(async () => own.elapsed() + ahead)
    /** All that the database was asked is answered, and so is what was asked because of that. */
    const answered = async () => {
      for (let known = -1, asked = 0; asked > known; ) {
        known = asked
        await new Promise<void>(resolve => setImmediate(resolve))
        const answers = [renewals, ...asks].flatMap(({ mock }) => mock.results.map(one => one.value))
        asked = answers.length
        await Promise.allSettled(answers)
      }
    }
    /** Goes on for so long, by 2 s at a time. */
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 2000) {
        own.advance(2000)
        await answered()
      }
    }
    if (what !== 'a process begins') await pass(60_000)
    if (what === 'the database is back') {
      renewals.mockRejectedValueOnce(new Error('away'))
      await pass(2000)
    } else if (what === 'the clock of the database was set forward') {
      ahead = 60_000
      await pass(2000)
    }
    const asked = once.once(claim(key), caller(), () => ({
      request: caller(),
      answer: async () => new Response('said'),
    }))
    await answered()
    await pass(8000)
    expect(Bun.peek.status(asked)).toBe('pending')
    await until(async () => {
      await pass(2000)
      return Bun.peek.status(asked) !== 'pending'
    })
    expect(await (await asked).text()).toBe('said')
    for (const spy of [renewals, ...asks]) spy.mockRestore()
    await once.close()
  },
)

test('an answer is that of its own run, which is over for a process that was taken for dead', async () => {
  const head = (status: number) => ({ status, headers: {} })
  const dead = await dieOn(claim('came-back'))
  const [taken, other] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()]
  expect(await store.claim(taken, claim('came-back'), true)).toBe('begun')
  expect(await store.claim(other, claim('beside'), true)).toBe('begun')
  await store.begin(taken, head(200))
  await store.begin(dead, head(500))
  await store.end(dead, { state: 'complete', head: head(500), last: undefined })
  expect(await store.find(dead)).toMatchObject({ state: 'failed', head: undefined })
  expect(await store.find(taken)).toMatchObject({ state: 'running', head: head(200) })
  expect(await store.find(other)).toMatchObject({ state: 'running', head: undefined })
})
