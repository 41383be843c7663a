import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { manualClock } from '#tests/support/manual-clock.ts'
import { box } from '#tests/support/secret.ts'
import { type TestDatabase, testDatabase } from '#tests/support/stores/database.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { Idempotency } from '@/exchange/idempotency/idempotency.ts'
import { type RunClaim, type RunStore, runStore } from '@/exchange/idempotency/store.ts'
import { interruptionBy } from '@/exchange/interruption.ts'
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

/** Silence has long said something, and does. */
const EVER = Number.POSITIVE_INFINITY

const claim = (key: string): RunClaim => ({ accountId: 1, key, fingerprint: new Uint8Array(32) })
const caller = () => new Request('http://tollgate/')
/** Who asks, and may be given what another began until they leave. */
const asking = (signal = new AbortController().signal) => ({
  signal,
  surface: 'chat' as const,
  follow: () => interruptionBy(signal),
})

test('a request that broke off without an answer may be made again', async () => {
  const made: number[] = []
  const ask = (answer: () => Promise<Response>) =>
    idempotency.once(claim('broken'), asking(), () => {
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
    idempotency.once(claim('unreadable'), asking(), () => ({
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
    idempotency.once(claim('waited-for'), asking(), () => ({ request: caller(), answer: () => said }))
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
  const first = idempotency.once(claim('shared'), asking(), () => ({
    request: caller(),
    answer: () => answer.promise,
  }))
  const left = AbortSignal.abort()
  const second = idempotency.once(claim('shared'), asking(left), () => {
    throw new Error('it was run')
  })
  await expect(second).rejects.toMatchObject({ kind: 'client_closed' })
  answer.resolve(new Response('said'))
  expect(await (await first).text()).toBe('said')
})

test('whoever takes long keeps the key, as the lease is renewed every two seconds', async () => {
  const answer = Promise.withResolvers<Response>()
  const begun = Promise.withResolvers<void>()
  const asked = idempotency.once(claim('long'), asking(), () => {
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
  const asked = idempotency.once(claim('left'), asking(left.signal), () => {
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
  expect(await store.claim(id, claim('unkept'), EVER)).toBe('begun')
  await store.append(id, { seq: 0, content: Buffer.from('the beginning of it'), ending: undefined })
  await store.end(id, { state: 'unkept', head: undefined, last: undefined })
  expect(await store.find(id, EVER)).toMatchObject({ state: 'unkept' })
  expect(await store.chunks(id, 0)).toEqual([])
})

test('an answer is kept for a day from its beginning, and what failed for a minute from its end', async () => {
  for (const [state, seconds] of [
    ['complete', 86_400],
    ['failed', 60],
  ] as const) {
    const id = Bun.randomUUIDv7()
    expect(await store.claim(id, claim(`kept-${state}`), EVER)).toBe('begun')
    await store.end(id, { state, head: { status: 200, headers: {} }, last: undefined })
    const [run] = await database.sql<{ left: number }[]>`
      select extract(epoch from expires_at - now())::float8 as left from idempotent_run where id = ${id}`
    expect(run?.left).toBeWithin(seconds - 30, seconds + 1)
  }
})

test('an answer is read in its order, four stretches at a time', async () => {
  const id = Bun.randomUUIDv7()
  expect(await store.claim(id, claim('in-order'), EVER)).toBe('begun')
  for (const seq of [4, 3, 2, 1, 0])
    await store.append(id, { seq, content: Buffer.from('x'), ending: undefined })
  const seqs = async (from: number) => (await store.chunks(id, from)).map(({ seq }) => seq)
  expect([await seqs(0), await seqs(4)]).toEqual([[0, 1, 2, 3], [4]])
})

/** Lets go on what waits for nothing but its turn. */
const settled = () => new Promise<void>(resolve => setImmediate(resolve))

/** All that the database was asked is answered, and so is what was asked because of that. */
async function answered(...spies: { mock: { results: readonly { value?: unknown }[] } }[]): Promise<void> {
  for (let known = -1, asked = 0; asked > known; ) {
    known = asked
    await settled()
    const answers = spies.flatMap(({ mock }) => mock.results.map(one => one.value))
    asked = answers.length
    await Promise.allSettled(answers)
  }
}

/** Begins a run whose process dies. */
async function dieOn(of: RunClaim): Promise<string> {
  const id = Bun.randomUUIDv7()
  expect(await store.claim(id, of, EVER)).toBe('begun')
  await database.sql`update idempotent_run set leased_until = now() - interval '1 second' where id = ${id}`
  return id
}

test('what a dead run was charged is given back once the retry runs in its place, for a day', async () => {
  const [retried, left, other, late] = await Promise.all(
    ['retried', 'left', 'other', 'late'].map(key => dieOn(claim(`dead-${key}`))),
  )
  await database.sql`update idempotent_run set expires_at = now() - interval '1 second' where id = ${`${late}`}`
  for (const key of ['retried', 'late'])
    expect(await store.claim(Bun.randomUUIDv7(), claim(`dead-${key}`), EVER)).toBe('begun')
  const another = { ...claim('dead-other'), fingerprint: new Uint8Array(32).fill(1) }
  expect(await store.claim(Bun.randomUUIDv7(), another, EVER)).toBe('begun')

  clock.advance(60_000)
  await until(() => givenBack.length > 0)
  expect(givenBack.filter(id => [retried, left, other, late].includes(id))).toEqual([`${retried}`])
  // Some of it may be posted hours later.
  await store.sweep(EVER)
  expect(await store.takenOver()).toEqual([{ id: `${retried}`, accountId: 1 }])
})

test.each(['a process begins', 'the database is back', 'the clock of the database was set forward'])(
  'once %s, the key of a run that was not renewed is free when its process has had the time to be heard, and not before',
  async what => {
    // Of the time that the database has.
    const own = manualClock(Date.now())
    const key = `silent since ${what}`
    await dieOn(claim(key))
    const log = createLog({ level: 'silent', format: 'json' })
    const once = new Idempotency({ store, ledger: { giveBack: async () => {} }, box, clock: own, log })
    const renewals = spyOn(store, 'renew')
    const asks = [spyOn(store, 'claim'), spyOn(store, 'find')]
    let ahead = 0
    renewals.mockImplementation(async () => own.elapsed() + ahead)
    /** Goes on for so long, by 2 s at a time. */
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 2000) {
        own.advance(2000)
        await answered(renewals, ...asks)
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
    const asked = once.once(claim(key), asking(), () => ({
      request: caller(),
      answer: async () => new Response('said'),
    }))
    await answered(renewals, ...asks)
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
  expect(await store.claim(taken, claim('came-back'), EVER)).toBe('begun')
  expect(await store.claim(other, claim('beside'), EVER)).toBe('begun')
  await store.begin(taken, head(200))
  await store.begin(dead, head(500))
  await store.end(dead, { state: 'complete', head: head(500), last: undefined })
  expect(await store.find(dead, EVER)).toMatchObject({ state: 'failed', head: undefined })
  expect(await store.find(taken, EVER)).toMatchObject({ state: 'running', head: head(200) })
  expect(await store.find(other, EVER)).toMatchObject({ state: 'running', head: undefined })
})

describe('when the clock of the database was set forward', () => {
  /** A process to which the others' silence has long said something, and which last heard of the time `behindMs` ago. */
  async function process(behindMs: number) {
    const own = manualClock(Date.now())
    const log = createLog({ level: 'silent', format: 'json' })
    const renewals = spyOn(store, 'renew')
    renewals.mockImplementation(async () => own.elapsed() - behindMs)
    const once = new Idempotency({ store, ledger: { giveBack: async () => {} }, box, clock: own, log })
    for (let passed = 0; passed < 20_000; passed += 2000) {
      own.advance(2000)
      await settled()
    }
    renewals.mockRestore()
    return { once, clock: own, [Symbol.asyncDispose]: () => once.close() }
  }

  test('a run that runs is not deleted, though a day has passed by it', async () => {
    const id = Bun.randomUUIDv7()
    expect(await store.claim(id, claim('day'), EVER)).toBe('begun')
    await database.sql`update idempotent_run set expires_at = now() - interval '1 minute' where id = ${id}`
    await store.renew([id])
    await store.sweep(EVER)
    expect(await store.claim(Bun.randomUUIDv7(), claim('day'), EVER)).toMatchObject({ id, alive: true })
    await store.append(id, { seq: 0, content: Buffer.from('x'), ending: undefined })
  })

  test('one that was not renewed since is deleted once its process has had the time to be heard', async () => {
    const id = await dieOn(claim('day-silent'))
    await database.sql`update idempotent_run set expires_at = now() - interval '1 minute' where id = ${id}`
    for (const knownTo of [Number.NEGATIVE_INFINITY, Date.now() - 3_600_000]) {
      await store.sweep(knownTo)
      expect(await store.find(id, EVER)).toMatchObject({ state: 'running' })
    }
    await store.sweep(EVER)
    expect(await store.find(id, EVER)).toBeUndefined()
  })

  test('the sweep of a process that has yet to hear of it deletes no run that runs', async () => {
    const id = await dieOn(claim('day-swept'))
    await database.sql`update idempotent_run set expires_at = now() - interval '1 minute' where id = ${id}`
    await using late = await process(3_600_000)
    const sweeps = spyOn(store, 'sweep')
    const renewals = spyOn(store, 'renew').mockImplementation(async () => late.clock.elapsed() - 3_600_000)
    for (let passed = 0; passed < 60_000; passed += 2000) {
      late.clock.advance(2000)
      await settled()
    }
    await Promise.all(sweeps.mock.results.map(({ value }) => value))
    expect(sweeps).toHaveBeenCalled()
    expect(await store.find(id, EVER)).toMatchObject({ state: 'running' })
    for (const spy of [sweeps, renewals]) spy.mockRestore()
  })

  test('a process that has yet to hear of it takes no run of another for dead, and reads along', async () => {
    const id = Bun.randomUUIDv7()
    expect(await store.claim(id, claim('other'), EVER)).toBe('begun')
    await store.begin(id, { status: 200, headers: {} })
    // An hour ahead of what the process knows: by that its lease has some seconds left.
    await database.sql`update idempotent_run set leased_until = leased_until - interval '1 hour' where id = ${id}`
    await using late = await process(3_620_000)
    const asks = [spyOn(store, 'claim'), spyOn(store, 'find'), spyOn(store, 'chunks')]
    /** It looks once more, and has seen what there is. */
    const look = async () => {
      late.clock.advance(100)
      await answered(...asks)
    }
    const asked = late.once.once(claim('other'), asking(), () => {
      throw new Error('it was run a second time')
    })
    await answered(...asks)
    await look()
    expect(Bun.peek.status(asked)).toBe('pending')
    await store.append(id, { seq: 0, content: box.seal(Buffer.from('said')), ending: undefined })
    await look()
    const text = (await asked).text()
    await answered(...asks)
    await look()
    await store.end(id, {
      state: 'complete',
      head: undefined,
      last: { seq: 1, content: box.seal(Buffer.from('.')), ending: 'closed' },
    })
    await look()
    expect(await text).toBe('said.')
    for (const spy of asks) spy.mockRestore()
  })

  test('a process takes none of its own for dead, whatever the database has of it', async () => {
    await using running = await process(0)
    const asks = [spyOn(store, 'claim'), spyOn(store, 'find')]
    const answer = Promise.withResolvers<Response>()
    const first = running.once.once(claim('own'), asking(), () => ({
      request: caller(),
      answer: () => answer.promise,
    }))
    await answered(...asks)
    await database.sql`update idempotent_run set leased_until = now() - interval '1 hour' where key = 'own'`
    const second = running.once.once(claim('own'), asking(), () => {
      throw new Error('it was run a second time')
    })
    await answered(...asks)
    running.clock.advance(100)
    await answered(...asks)
    expect(Bun.peek.status(second)).toBe('pending')
    answer.resolve(new Response('said'))
    expect(await (await first).text()).toBe('said')
    running.clock.advance(100)
    expect(await (await second).text()).toBe('said')
    for (const spy of asks) spy.mockRestore()
    // Over here, it is no longer this process that runs it.
    await settled()
    await database.sql`
      update idempotent_run set state = 'running', leased_until = now() - interval '1 hour' where key = 'own'`
    const third = await running.once.once(claim('own'), asking(), () => ({
      request: caller(),
      answer: async () => new Response('said anew'),
    }))
    expect(await third.text()).toBe('said anew')
  })
})

describe('while the database is away', () => {
  /** A process without a database, and what it warned of. */
  function stranded(renew: () => Promise<number>) {
    const own = manualClock()
    const lines: string[] = []
    const log = createLog({ level: 'warn', format: 'json' }, { write: line => lines.push(line) })
    let asked = 0
    const counted = () => {
      asked += 1
      return renew()
    }
    const once = new Idempotency({
      store: { ...store, renew: counted },
      ledger: { giveBack: async () => {} },
      box,
      clock: own,
      log,
    })
    const pass = async (times: number) => {
      for (let time = 0; time < times; time += 1) {
        own.advance(2000)
        await settled()
      }
    }
    return { once, pass, lines, asked: () => asked }
  }

  test('renewals are warned of where there are runs to keep', async () => {
    const { once, pass, lines } = stranded(() => Promise.reject(new Error('away')))
    await pass(5)
    expect(lines).toEqual([])
    const answer = Promise.withResolvers<Response>()
    const begun = Promise.withResolvers<void>()
    const asked = once.once(claim('stranded'), asking(), () => {
      begun.resolve()
      return { request: caller(), answer: () => answer.promise }
    })
    await begun.promise
    await pass(1)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('could not be renewed')
    answer.resolve(new Response('said'))
    await asked
    await once.close()
  })

  test('no more than five renewals wait for it, and the next is made when one has its answer', async () => {
    const waiting: PromiseWithResolvers<number>[] = []
    const { once, pass, asked } = stranded(() => {
      const renewal = Promise.withResolvers<number>()
      waiting.push(renewal)
      return renewal.promise
    })
    await pass(2)
    expect(asked()).toBe(2)
    await pass(20)
    expect(asked()).toBe(5)
    waiting[0]?.reject(new Error('the connection is closed'))
    await settled()
    await pass(5)
    expect(asked()).toBe(6)
    for (const renewal of waiting) renewal.resolve(0)
    await once.close()
  })

  test('a renewal without an answer for two seconds has failed', async () => {
    const { once, pass, lines } = stranded(() => new Promise(() => {}))
    const answer = Promise.withResolvers<Response>()
    const begun = Promise.withResolvers<void>()
    const asked = once.once(claim('stranded-late'), asking(), () => {
      begun.resolve()
      return { request: caller(), answer: () => answer.promise }
    })
    await begun.promise
    await pass(1)
    expect(lines).toEqual([])
    await pass(1)
    expect(lines).toHaveLength(1)
    answer.resolve(new Response('said'))
    await asked
    await once.close()
  })
})
