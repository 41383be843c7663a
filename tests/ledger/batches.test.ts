import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type ManualClock, manualClock } from '#tests/support/manual-clock.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { connect, type Database } from '@/db/connect.ts'
import { openBatches } from '@/ledger/batches.ts'
import { type LedgerPool, openPool } from '@/ledger/pool.ts'
import { type Presence, register } from '@/ledger/presence.ts'
import { TIMINGS } from '@/ledger/timings.ts'
import { createLog } from '@/telemetry/log.ts'
import { costOf, holdOf, ledgerFixture, moreOf, newId, type Payer, verdict } from './fixture.ts'

const fixture = await ledgerFixture()
const other = connect(fixture.database.url, { max: 2 })
let clock: ManualClock
let pool: LedgerPool
let presence: Presence

beforeAll(async () => {
  pool = openPool(fixture.database.url, TIMINGS, manualClock())
  presence = await register(pool.store, 'test')
})
afterAll(async () => {
  await pool.close()
  await other.close()
  await fixture.close()
})
beforeEach(() => {
  clock = manualClock()
})

/** Batches over a network on which the first statement waits until it is let go, and those after it for its answer. */
function setUp() {
  const lines: string[] = []
  const log = createLog({ level: 'error', format: 'json' }, { write: line => lines.push(line) })
  const gate = Promise.withResolvers<void>()
  let last: Promise<unknown> = gate.promise
  const network = { statements: 0, letGo: gate.resolve, answered: () => last }
  const slow: LedgerPool = {
    ...pool,
    guard(act) {
      network.statements += 1
      const answer = last.then(() => pool.guard(act))
      last = answer.catch(() => undefined)
      return answer
    },
  }
  const batches = openBatches({ pool: slow, presence, spill: undefined, clock, log, timings: TIMINGS })
  return { batches, lines, network }
}

/** What a promise was rejected with; undefined if it was not. */
const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

const balanceOf = ({ accountId }: Payer) => pool.store.balance(accountId)

test('a hold that was refused because it came too late, and is committed after all, is freed', async () => {
  const payer = await fixture.payer(100n)
  const { batches, network } = setUp()
  const refused = failureOf(batches.holds.submit(holdOf(payer, 7n)))
  await until(() => network.statements === 1)
  clock.advance(TIMINGS.holdPatienceMs)
  expect(await refused).toMatchObject({ kind: 'billing_unavailable' })
  await until(() => network.statements === 2)
  network.letGo()
  await batches.close()
  expect(await balanceOf(payer)).toMatchObject({ balanceNano: 100n, pendingNano: 0n })
})

test('more of a hold that was refused because it came too late takes nothing from the hold', async () => {
  const payer = await fixture.payer(100n)
  const request = holdOf(payer, 7n)
  await pool.store.hold(presence.owner(), [request])
  const { batches, network } = setUp()
  const refused = failureOf(batches.holds.submit(moreOf(request, 9n)))
  await until(() => network.statements === 1)
  clock.advance(TIMINGS.holdPatienceMs)
  expect(await refused).toMatchObject({ kind: 'billing_unavailable' })
  network.letGo()
  await batches.close()
  // Nobody waits for what was refused; it arrives all the same.
  await network.answered()
  expect(await balanceOf(payer)).toMatchObject({ balanceNano: 100n, pendingNano: 9n })
})

test('a process that closes waits for its holds, and for the charges of those who waited for them', async () => {
  const payer = await fixture.payer(100n)
  const { batches, network } = setUp()
  const request = holdOf(payer, 7n)
  const done: string[] = []
  const exchange = batches.holds.submit(request).then(async () => {
    done.push('held')
    // Whoever waits for a hold is some calls away from it.
    for (let calls = 0; calls < 20; calls += 1) await Promise.resolve()
    await batches.settle(costOf(request, 5n))
    done.push('settled')
  })
  const closed = batches.close().then(() => done.push('closed'))
  await until(() => network.statements === 1)
  await new Promise(setImmediate)
  network.letGo()
  await Promise.all([exchange, closed])
  expect(done).toEqual(['held', 'settled', 'closed'])
})

test('a charge that neither database nor disk takes waits in memory, but for no longer than its process', async () => {
  const payer = await fixture.payer(100n)
  const { batches, network } = setUp()
  void batches.settle(costOf(holdOf(payer, 7n), 5n))
  await until(() => network.statements === 1)
  clock.advance(TIMINGS.settlePatienceMs)
  await new Promise(setImmediate)
  expect(batches.settles.size()).toBe(1)
  const closed = batches.close()
  for (let patience = 0; patience < 3; patience += 1) {
    await new Promise(setImmediate)
    clock.advance(TIMINGS.settlePatienceMs)
  }
  await closed
})

describe('what a journal holds', () => {
  test('is not given up while the database does not answer', async () => {
    const payer = await fixture.payer(100n)
    const { batches, network } = setUp()
    const settled = batches.settleAll([costOf({ ...payer, id: newId() }, 7n)])
    const refused = failureOf(settled)
    await until(() => network.statements === 1)
    clock.advance(TIMINGS.connectionTimeoutMs)
    expect(await refused).toMatchObject({ kind: 'billing_unavailable' })
    network.letGo()
    await batches.close()
  })

  test('does not stand in the way of the rest where the database refuses it', async () => {
    const payer = await fixture.payer(100n)
    const { batches, lines, network } = setUp()
    network.letGo()
    const [good, bad] = [holdOf(payer, 7n), holdOf(payer, 8n)]
    expect((await Promise.all([good, bad].map(batches.holds.submit, batches.holds))).map(verdict)).toEqual([
      'granted',
      'granted',
    ])
    await batches.settleAll([costOf(bad, -1n), costOf(good, 5n)])
    expect(await balanceOf(payer)).toMatchObject({ balanceNano: 95n, pendingNano: 8n })
    expect(lines.filter(line => line.includes(bad.id))).toHaveLength(1)
    expect(lines.join('')).not.toContain(good.id)
    await batches.close()
  })
})

/** Keeps others from a wallet until the returned function is called. */
async function lockWallet({ sql }: Database, { accountId }: Payer): Promise<() => Promise<void>> {
  const wallet = await sql.reserve()
  await wallet`begin`
  await wallet`select from wallet where account_id = ${accountId} for update`
  return async () => {
    await wallet`rollback`
    wallet.release()
  }
}

test('statements without an answer are given up with their connections, and what comes after has new ones', async () => {
  const [stuck, free] = [await fixture.payer(100n), await fixture.payer(100n)]
  let renewals = 0
  const own = openPool(fixture.database.url, { ...TIMINGS, statementTimeoutMs: 60_000 }, clock, {
    onLost: () => {
      renewals += 1
    },
  })
  const unlock = await lockWallet(other, stuck)
  const hold = (payer: Payer) => own.guard(store => store.hold(presence.owner(), [holdOf(payer, 7n)]))
  const hung = [hold(stuck), hold(stuck)].map(failureOf)
  clock.advance(TIMINGS.connectionTimeoutMs)
  for (const failure of await Promise.all(hung)) expect(failure).toBeInstanceOf(Error)
  expect(renewals).toBe(1)
  const [held] = await hold(free)
  expect(held).toMatchObject({ granted: true })
  // What came in time takes nothing from those who come later.
  clock.advance(TIMINGS.connectionTimeoutMs)
  expect(renewals).toBe(1)
  await unlock()
  await own.close()
})
