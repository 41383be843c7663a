import { afterAll, expect, test } from 'bun:test'
import { until } from '#tests/support/upstreams/upstream.ts'
import { connect } from '@/db/connect.ts'
import { ledgerStore } from '@/ledger/store.ts'
import type { HoldRequest } from '@/ledger/types.ts'
import { costOf, holdOf, ledgerFixture, newId } from './fixture.ts'

const fixture = await ledgerFixture()
const database = connect(fixture.database.url, { max: 8 })
const store = ledgerStore(database)
afterAll(async () => {
  await database.close()
  await fixture.close()
})

/** Until a call of such a function waits for a lock. */
function untilWaiting(name: string): Promise<unknown> {
  return until(async () => {
    const [row] = await database.sql<{ waiting: bigint }[]>`
      select count(*) as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${name}%`}`
    return row?.waiting === 1n
  })
}

test.each<[string, Parameters<typeof fixture.payer>[1]]>([
  ['accounts', {}],
  ['accounts, by keys with a cap,', { cap: { amountNano: 10n ** 9n, period: 'total' } }],
])(
  'batches that name the same %s in any order never wait for one another in a circle',
  async (_, options) => {
    const payers = await Promise.all(Array.from({ length: 12 }, () => fixture.payer(10n ** 9n, options)))
    const owner = newId()
    await store.register(owner, 'test')
    const orders = [payers, payers.toReversed(), [...payers.slice(6), ...payers.slice(0, 6)]]
    const rounds = Array.from({ length: 60 }, async (_, index) => {
      const order = orders[index % orders.length] ?? payers
      const holds = order.map(payer => holdOf(payer, 5n))
      const results = await store.hold(owner, holds)
      expect(results.every(result => !(result instanceof Error) && result.granted)).toBe(true)
      await store.settle(holds.toReversed().map(hold => costOf(hold, 3n)))
    })
    // A deadlock ends one of its statements with an error (40P01), which the writer above the store would only repeat.
    await Promise.all(rounds)
    for (const { accountId } of payers) {
      expect(await store.balance(accountId)).toMatchObject({ balanceNano: 10n ** 9n - 180n, pendingNano: 0n })
    }
  },
)

test.each(['hold', 'hold with caps', 'settle', 'holds to end'])(
  'a batch of %s that waits for the first of its accounts has locked none of the others',
  async what => {
    const cap = { amountNano: 10n ** 9n, period: 'total' } as const
    const options = what === 'hold with caps' ? { cap } : {}
    const first = await fixture.payer(100n, options)
    const second = await fixture.payer(100n, options)
    const owner = newId()
    await store.register(owner, 'test')
    const holds = [second, first].map(payer => holdOf(payer, 5n))
    if (what === 'settle' || what === 'holds to end') await store.hold(owner, holds)
    if (what === 'holds to end')
      await database.sql`update hold set deadline = '-infinity' where owner = ${owner}`
    const blocker = await database.sql.reserve()
    await blocker`begin`
    await blocker`select from wallet where account_id = ${first.accountId} for no key update`
    const begin = (): Promise<unknown> => {
      if (what === 'holds to end') return store.reap(3_600_000, 1_000)
      return what === 'settle' ? store.settle(holds.map(hold => costOf(hold, 3n))) : store.hold(owner, holds)
    }
    const waiting = begin()
    await untilWaiting('ledger_')
    await blocker`select from wallet where account_id = ${second.accountId} for no key update nowait`
    await blocker`commit`
    blocker.release()
    await waiting
  },
)

test.each<[string, number, Parameters<typeof fixture.payer>[1]]>([
  ['a hold', 1, {}],
  ['a batch of holds', 2, {}],
  ['a hold of a key with a cap', 1, { cap: { amountNano: 10n ** 9n, period: 'total' } }],
  ['a batch of holds of a key with a cap', 2, { cap: { amountNano: 10n ** 9n, period: 'total' } }],
])('%s that waits for its wallet gets what is left in it by then', async (_, count, options) => {
  const payer = await fixture.payer(10n, options)
  const owner = newId()
  await store.register(owner, 'test')
  const other = await database.sql.reserve()
  await other`begin`
  await other`update wallet set pending = pending + 6 where account_id = ${payer.accountId}`
  const asking = store.hold(
    owner,
    Array.from({ length: count }, () => holdOf(payer, 5n)),
  )
  await untilWaiting('ledger_hold')
  await other`commit`
  other.release()
  expect(await asking).toMatchObject(
    Array(count).fill({ granted: false, reason: 'credit_reserved', availableNano: 4n }),
  )
})

test.each([
  ['a hold', 1],
  ['a batch of holds', 2],
])(
  '%s that waits for its wallet while its exchange is held and charged on another connection is not opened',
  async (_, count) => {
    const payer = await fixture.payer(100n)
    const owner = newId()
    await store.register(owner, 'test')
    const again = Array.from({ length: count }, () => holdOf(payer, 5n))
    const [charged = holdOf(payer, 5n)] = again
    const other = connect(fixture.database.url, { max: 1 })
    await other.sql`begin`
    await other.sql`select from wallet where account_id = ${payer.accountId} for no key update`
    const asking = store.hold(owner, again)
    await untilWaiting('ledger_hold')
    await ledgerStore(other).hold(owner, [charged])
    await ledgerStore(other).settle([costOf(charged, 3n)])
    await other.sql`commit`
    await other.close()
    expect((await asking)[0]).toBeInstanceOf(Error)
    expect(await database.sql`select from hold where id = ${charged.id}`).toHaveLength(0)
    expect(await store.balance(payer.accountId)).toMatchObject({
      balanceNano: 97n,
      pendingNano: BigInt(5 * (count - 1)),
    })
  },
)

type Reserved = Awaited<ReturnType<typeof database.sql.reserve>>

test.each<[string, (sql: Reserved, request: HoldRequest) => Promise<unknown>]>([
  [
    'comes to have an owner again',
    (sql, { id }) => sql`update hold set deadline = now() + interval '1 hour' where id = ${id}`,
  ],
  [
    'is entrusted to a job',
    (sql, { id, accountId }) => sql`select ledger_entrust(${id}, ${accountId}, now() + interval '1 hour')`,
  ],
])('a hold that %s while the reaper waits for its wallet stays', async (_, become) => {
  const payer = await fixture.payer(100n)
  const owner = newId()
  await store.register(owner, 'test')
  const request = holdOf(payer, 7n)
  await store.hold(owner, [request])
  await database.sql`update hold set deadline = '-infinity' where id = ${request.id}`
  const wallet = await database.sql.reserve()
  await wallet`begin`
  await wallet`select from wallet where account_id = ${payer.accountId} for no key update`
  const reaping = store.reap(3_600_000, 10)
  await untilWaiting('ledger_reap')
  await become(wallet, request)
  await wallet`commit`
  wallet.release()
  expect(await reaping).toEqual([])
  expect(await store.balance(payer.accountId)).toMatchObject({ pendingNano: 7n })
})

test('a hold that is entrusted to a job while the reaper is about to end it is set aside for the job', async () => {
  const payer = await fixture.payer(100n, { cap: { amountNano: 100n, period: 'total' } })
  const owner = newId()
  await store.register(owner, 'test')
  const request = holdOf(payer, 7n)
  const { id, accountId, keyId } = request
  await store.hold(owner, [request])
  await database.sql`update hold set deadline = '-infinity' where id = ${id}`
  const budget = await database.sql.reserve()
  await budget`begin`
  await budget`select from key_budget where key_id = ${keyId} for no key update`
  const reaping = store.reap(3_600_000, 10)
  await untilWaiting('ledger_reap')
  const entrusting = database.sql<{ done: boolean }[]>`
    select ledger_entrust(${id}, ${accountId}, now() + interval '1 hour', ${keyId}, 7, 1) as done`.execute()
  await Promise.race([entrusting, untilWaiting('ledger_entrust')])
  await budget`commit`
  budget.release()
  await reaping
  expect(await entrusting).toMatchObject([{ done: true }])
  expect(
    await database.sql`select owner = ledger_job_owner() as job from hold where id = ${id}`,
  ).toMatchObject([{ job: true }])
  expect(await store.balance(accountId)).toMatchObject({ balanceNano: 100n, pendingNano: 7n })
})

test('a process whose exchanges are being ended for it learns that it was taken for dead, however soon it says that it lives', async () => {
  const payer = await fixture.payer(100n)
  const owner = newId()
  await store.register(owner, 'test')
  await store.hold(owner, [holdOf(payer, 7n)])
  await database.sql`update process set seen = now() - interval '1 day' where id = ${owner}`
  const wallet = await database.sql.reserve()
  await wallet`begin`
  await wallet`select from wallet where account_id = ${payer.accountId} for no key update`
  const reaping = store.reap(3_600_000, 10)
  await untilWaiting('ledger_reap')
  const alive = store.heartbeat(owner)
  await Promise.race([alive, untilWaiting('ledger_heartbeat')])
  await wallet`commit`
  wallet.release()
  expect(await reaping).toHaveLength(1)
  expect(await alive).toMatchObject({ alive: 0 })
})

test('what exchanges have cost so far is noted without waiting for those that are about to be charged', async () => {
  const payer = await fixture.payer(100n)
  const owner = newId()
  await store.register(owner, 'test')
  const holds = [holdOf(payer, 5n), holdOf(payer, 5n)]
  await store.hold(owner, holds)
  const [charged, running] = holds.map(({ id }) => id)
  const charging = await database.sql.reserve()
  await charging`begin`
  await charging`select from hold where id = ${charged ?? ''} for update`
  await store.progress(owner, new Map(holds.map(({ id }) => [id, 3n])))
  await charging`commit`
  charging.release()
  const noted = await database.sql`select id from hold where owner = ${owner} and progress = 3`
  expect([...noted]).toEqual([{ id: running }])
})

test('a cost that waits for the wallet while its hold is raised is charged', async () => {
  const payer = await fixture.payer(100n)
  const owner = newId()
  await store.register(owner, 'test')
  const request = holdOf(payer, 5n)
  await store.hold(owner, [request])
  const raising = await database.sql.reserve()
  await raising`begin`
  await raising`update wallet set pending = pending + 4 where account_id = ${payer.accountId}`
  await raising`update hold set amount = amount + 4 where id = ${request.id}`
  const settling = store.settle([costOf(request, 3n)])
  await untilWaiting('ledger_settle')
  await raising`commit`
  raising.release()
  expect(await settling).toMatchObject([{ outcome: 'settled', chargedNano: 3n }])
  expect(await store.balance(payer.accountId)).toMatchObject({ balanceNano: 97n, pendingNano: 0n })
})

test('every function of the ledger acts with the rights of its owner, by index, and is for nobody else', async () => {
  const rows = await database.sql<{ name: string }[]>`
    select p.proname as name from pg_proc p
    where p.pronamespace = current_schema()::regnamespace and p.proname like 'ledger\_%' and p.provolatile = 'v'
      and p.proname <> 'ledger_roll_up' and (not p.prosecdef or has_function_privilege('public', p.oid, 'execute')
        or not p.proconfig @> array['plan_cache_mode=force_generic_plan', 'enable_seqscan=off'])`
  expect(rows.map(({ name }) => name)).toEqual([])
})
