import { afterAll, expect, test } from 'bun:test'
import { until } from '#tests/support/upstreams/upstream.ts'
import { systemClock } from '@/clock/clock.ts'
import { openPool } from '@/ledger/pool.ts'
import { type LedgerTimings, TIMINGS } from '@/ledger/timings.ts'
import { holdOf, ledgerFixture, newId, type Payer } from './fixture.ts'

const fixture = await ledgerFixture()
afterAll(() => fixture.close())
const { sql } = fixture.database

/** The connections of a process, and a hold that one of them waits with for a wallet, until it is let go. */
async function waiting(payer: Payer, timings: Partial<LedgerTimings>) {
  const pool = openPool(fixture.database.url, { ...TIMINGS, ...timings }, systemClock)
  const owner = newId()
  await pool.store.register(owner, 'test')
  const lock = await sql.reserve()
  await lock`begin`
  await lock`select from wallet where account_id = ${payer.accountId} for update`
  return {
    pool,
    hold: () => pool.store.hold(owner, [holdOf(payer, 10n)]),
    async letGo() {
      await lock`commit`
      lock.release()
    },
  }
}

const connections = async () => {
  const rows = await sql<{ waits: boolean }[]>`select cardinality(pg_blocking_pids(pid)) > 0 as waits
    from pg_stat_activity where datname = current_database() and application_name = 'tollgate ledger'`
  return { open: rows.length, waiting: rows.filter(({ waits }) => waits).length }
}

test('who waits for a wallet holds up no other, and all connections are closed at the end', async () => {
  const [payer, other] = [await fixture.payer(100n), await fixture.payer(50n)]
  const { pool, hold, letGo } = await waiting(payer, {
    statementTimeoutMs: 600_000,
    connectionTimeoutMs: 600_000,
  })
  const held = hold()
  await until(async () => (await connections()).waiting === 1)
  expect(await pool.guard(store => store.balance(other.accountId))).toMatchObject({ balanceNano: 50n })
  expect(Bun.peek.status(held)).toBe('pending')
  await letGo()
  expect(await held).toMatchObject([{ granted: true }])
  await pool.close()
  await until(async () => (await connections()).open === 0)
})

test('a statement that takes longer than it may is given up by the database', async () => {
  const payer = await fixture.payer(100n)
  const { pool, hold, letGo } = await waiting(payer, {
    statementTimeoutMs: 50,
    connectionTimeoutMs: 600_000,
  })
  await expect(hold()).rejects.toMatchObject({ code: '57014' })
  await letGo()
  expect(await fixture.store.balance(payer.accountId)).toMatchObject({ pendingNano: 0n })
  await pool.close()
})
