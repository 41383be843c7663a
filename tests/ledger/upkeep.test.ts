import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock } from '#tests/support/manual-clock.ts'
import { until } from '#tests/support/upstreams/upstream.ts'
import { systemClock } from '@/clock/clock.ts'
import { audit } from '@/ledger/audit.ts'
import { decodeTexts, readSettlement } from '@/ledger/spill/journal.ts'
import { TIMINGS } from '@/ledger/timings.ts'
import type { Posting } from '@/ledger/types.ts'
import { costOf, cutOff, holdOf, ledgerFixture, newId, type Payer } from './fixture.ts'

const fixture = await ledgerFixture()
const { sql } = fixture.database
const ledger = await fixture.open({ timings: { settlePatienceMs: 50 } })
afterAll(() => fixture.close())

/** Credit whose time is over. */
async function giveExpired({ accountId }: Payer): Promise<void> {
  const expiresAt = new Date(Date.now() + 3_600_000)
  await fixture.store.post({ id: newId(), accountId, kind: 'promo', amountNano: 50n, expiresAt })
  await sql`update ledger_grant set expires_at = now() - interval '1 second' where account_id = ${accountId} and kind = 'promo'`
}

const balanceOf = async ({ accountId }: Payer) => (await fixture.store.balance(accountId))?.balanceNano

/** What an act failed with, in words; empty: it did not. */
async function failureOf(act: () => Promise<unknown>): Promise<string> {
  const error: unknown = await act().then(
    () => '',
    failure => failure,
  )
  return error instanceof AggregateError ? error.errors.join() : String(error)
}

test('a heartbeat that did not reach the database is none: the ledger is unwell until one does', async () => {
  const clock = manualClock()
  const own = await fixture.open({ clock })
  const restore = await cutOff(fixture.database)
  clock.advance(TIMINGS.deadAfterMs)
  expect([await failureOf(() => own.beat()), own.state().healthy]).toEqual([
    expect.not.stringMatching(/^$/),
    false,
  ])
  await restore()
  // Connections that were cut fail once more before they are opened anew.
  while ((await failureOf(() => own.beat())) !== '') expect(own.state().healthy).toBe(false)
  expect(own.state().healthy).toBe(true)
})

test.each(['a process begins', 'the database is back', 'the clock of the database was set forward'])(
  'once %s, nobody is taken for dead who has not had the time to be heard',
  async what => {
    let elapsed = 3_600_000
    const own = await fixture.open({
      clock: { ...systemClock, every: () => () => undefined, elapsed: () => elapsed },
    })
    const other = await fixture.open()
    const payer = await fixture.payer(100n)
    const request = holdOf(payer, 7n)
    await other.hold(request)
    /** Goes on for so long, by a heartbeat at a time. */
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += TIMINGS.heartbeatMs) {
        elapsed += TIMINGS.heartbeatMs
        await own.beat()
      }
    }
    if (what !== 'a process begins') await pass(2 * TIMINGS.deadAfterMs)
    if (what === 'the database is back') {
      const restore = await cutOff(fixture.database)
      expect(await failureOf(() => own.beat())).not.toBe('')
      await restore()
      // Connections that were cut fail once more before they are opened anew.
      while ((await failureOf(() => own.beat())) !== '');
    } else if (what === 'the clock of the database was set forward') {
      // So much less has passed here than by the clock of the database.
      elapsed = 0
    }
    await sql`update process set seen = now() - interval '1 minute' where id = (select owner from hold where id = ${request.id})`
    await own.beat()
    for (const [passed, held] of [
      [0, true],
      [TIMINGS.deadAfterMs - TIMINGS.heartbeatMs, true],
      [TIMINGS.heartbeatMs, false],
    ] as const) {
      await pass(passed)
      expect(await sql`select from hold where id = ${request.id}`).toHaveLength(held ? 1 : 0)
    }
  },
)

test('a budget whose period began while the clock was ahead is in the running one again, with all that it has spent', async () => {
  const payer = await fixture.payer(100n, { cap: { amountNano: 10n, period: 'month' } })
  const request = holdOf(payer, 6n)
  await ledger.hold(request)
  await ledger.settle(costOf(request, 6n))
  await sql`update key_budget set period_start = ledger_period_start(period, now() + interval '40 days')
    where key_id = ${payer.keyId}`
  await ledger.maintain()
  const [row] =
    await sql`select spent, period_start = ledger_period_start(period, now()) as runs from key_budget
    where key_id = ${payer.keyId}`
  expect(row).toEqual({ spent: 6n, runs: true })
  expect((await audit(fixture.database.url, { accountId: payer.accountId })).ok).toBe(true)
})

test('what is set aside for no exchange that runs is freed after a minute, and nothing else', async () => {
  const own = await fixture.open()
  const payer = await fixture.payer(100n)
  const [running, refused, late, young] = [1n, 2n, 4n, 8n].map(amountNano => holdOf(payer, amountNano))
  if (!running || !refused || !late || !young) throw new Error('four holds')
  await own.hold(running)
  const [{ owner } = { owner: '' }] = await sql<
    { owner: string }[]
  >`select owner from hold where id = ${running.id}`
  // These reach the database when nobody waits for them any more.
  await fixture.store.hold(owner, [refused, late, young])
  await fixture.store.keepRefused(costOf(refused, -1n), 'refused by a test')
  await sql`update hold set opened_at = now() - interval '61 seconds' where id <> ${young.id}`
  await own.maintain()
  expect(await fixture.store.balance(payer.accountId)).toMatchObject({ balanceNano: 100n, pendingNano: 11n })
  // Its charge waits for a database that is away, which is no reason to charge it in another way.
  await own.settle(costOf(running, 1n))
  await own.maintain()
  const kinds = await sql`select kind from entry where id = ${running.id}`
  expect(kinds).toMatchObject([{ kind: 'usage' }])
  await sql`delete from refused_settlement`
})

test('the hold of a charge that waits in the journal is kept for it', async () => {
  const payer = await fixture.payer(100n)
  const request = holdOf(payer, 7n)
  await ledger.hold(request)
  await sql`update hold set opened_at = now() - interval '61 seconds' where id = ${request.id}`
  const restore = await cutOff(fixture.database)
  expect(await ledger.settle(costOf(request, 6n))).toMatchObject({ outcome: 'journaled' })
  await restore()
  // Connections that were cut fail once more before they are opened anew.
  while ((await failureOf(() => ledger.maintain())) !== '');
  await ledger.beat()
  expect(await fixture.store.balance(payer.accountId)).toMatchObject({ balanceNano: 94n, pendingNano: 0n })
  // Of a hold that was freed first it would be a correction. What was on its way when the database came back may be first.
  expect(await sql`select kind from entry where id = ${request.id}`).toMatchObject([{ kind: 'usage' }])
})

test('nor is one freed whose charge is on its way: what both leave in the journal would be taken for free of charge', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-upkeep-'))
  const clock = manualClock()
  const own = await fixture.open({ clock, journalDirectory: directory })
  const payer = await fixture.payer(100n)
  const request = holdOf(payer, 7n)
  await own.hold(request)
  await sql`update hold set opened_at = now() - interval '61 seconds' where id = ${request.id}`
  await sql.begin(async tx => {
    await tx`select from wallet where account_id = ${payer.accountId} for update`
    const settled = own.settle(costOf(request, 6n))
    let isMaintained = false
    void own.maintain().finally(() => {
      isMaintained = true
    })
    await until(() => isMaintained || own.state().settlementsWaiting === 2)
    clock.advance(TIMINGS.settlePatienceMs)
    expect(await settled).toMatchObject({ outcome: 'journaled' })
  })
  const left = readdirSync(directory)
    .filter(name => name.endsWith('.journal') && !name.includes('notes'))
    .flatMap(name => decodeTexts(readFileSync(join(directory, name)), readSettlement).items)
  expect(left).toEqual([costOf(request, 6n)])
  rmSync(directory, { recursive: true })
})

test.each(['refund', 'chargeback'] as const)(
  'a gift with an end has it still when a payment went back as a %s',
  async kind => {
    const payer = await fixture.payer(0n)
    const { accountId } = payer
    const post = (posting: Omit<Posting, 'id' | 'accountId'>) =>
      fixture.store.post({ id: newId(), accountId, ...posting })
    await giveExpired(payer)
    await post({ kind: 'topup', amountNano: 100n, ref: `pi_${accountId}` })
    await post({ kind, amountNano: -100n, ref: `pi_${accountId}`, reason: 'a test' })
    expect(await fixture.store.expiringCredit(accountId)).toMatchObject([{ remainderNano: 50n }])
    await ledger.maintain()
    expect([await balanceOf(payer), await fixture.store.expiringCredit(accountId)]).toEqual([0n, []])
  },
)

describe('a part of the upkeep that fails', () => {
  test('keeps none of the rest from being done: without a reaper, the journal is posted', async () => {
    const payer = await fixture.payer(100n)
    const request = holdOf(payer, 10n)
    await ledger.hold(request)
    const restore = await cutOff(fixture.database)
    expect(await ledger.settle(costOf(request, 6n))).toMatchObject({ outcome: 'journaled' })
    await restore()
    await sql`alter function ledger_reap(bigint, integer) rename to reap`
    // Connections that were cut fail once more before they are opened anew.
    for (let told = ''; !told.includes('ledger_reap'); ) told = await failureOf(() => ledger.beat())
    expect([await balanceOf(payer), ledger.state().journal]).toEqual([94n, 'empty'])
    await sql`alter function reap(bigint, integer) rename to ledger_reap`
  })

  test('keeps none of the rest from being done: without partitions, credit expires and days are added up', async () => {
    const payer = await fixture.payer(100n)
    await giveExpired(payer)
    await sql`insert into daily_total (day, kind, entries, amount) values ('2020-01-01', 'topup', 0, 0)`
    await sql`insert into entry (id, kind, account_id, seq, amount, balance_after, created_at)
      values (${newId()}, 'topup', 0, 1, 1, 1, '2020-01-02')`
    await sql`alter function ledger_make_partitions(timestamptz, integer) rename to make_partitions`
    expect(await failureOf(() => ledger.maintain())).toContain('ledger_make_partitions')
    await sql`alter function make_partitions(timestamptz, integer) rename to ledger_make_partitions`
    expect(await balanceOf(payer)).toBe(100n)
    const rolled = await sql`select entries from daily_total where day = '2020-01-02'`
    expect(rolled).toHaveLength(1)
  })

  test('of one account keeps the credit of no other', async () => {
    const [broken, payer] = [await fixture.payer(100n), await fixture.payer(100n)]
    await giveExpired(broken)
    await giveExpired(payer)
    await sql`alter table wallet add constraint broken check (account_id <> ${sql.unsafe(String(broken.accountId))} or seq < 3)`
    expect(await failureOf(() => ledger.maintain())).toContain('"broken"')
    expect([await balanceOf(broken), await balanceOf(payer)]).toEqual([150n, 100n])
  })
})
