import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '@/clock/clock.ts'
import { audit } from '@/ledger/audit.ts'
import type { Ledger } from '@/ledger/ledger.ts'
import { encodeRecords } from '@/ledger/spill/journal.ts'
import { costOf, holdOf, ledgerFixture, newId, type Payer } from './fixture.ts'

const fixture = await ledgerFixture()
const { sql, url } = fixture.database
let ledger: Ledger
beforeAll(async () => {
  ledger = await fixture.open()
})
afterAll(() => fixture.close())
afterEach(mend)

const wallet = ({ accountId }: Payer) => fixture.store.balance(accountId)
const refused = () => sql`select id, account_id::integer, cost_nano::integer, reason from refused_settlement`
const check = async ({ accountId }: Payer) => {
  const { ok, checks } = await audit(url, { accountId })
  return { ok, found: checks.find(({ name }) => name === 'refused_settlements') }
}

/** Something that no rule of the ledger knows keeps an account from being charged. */
async function breakFor({ accountId }: Payer, sqlState: string): Promise<void> {
  await sql.unsafe(`
    create function broken() returns trigger language plpgsql as $$ begin
      raise exception 'what nobody thought of' using errcode = '${sqlState}';
    end $$;
    create trigger broken before insert on entry for each row when (new.account_id = ${accountId}) execute function broken()`)
}

async function mend(): Promise<void> {
  await sql`drop function if exists broken cascade`
}

describe.each(['23514', 'P0001', 'XX001'])('a charge that the database refuses with %s', sqlState => {
  test('is kept with the reason, told by the audit, and posted when what was wrong is mended', async () => {
    const [payer, other] = [await fixture.payer(100n), await fixture.payer(100n)]
    const [bad, good] = [holdOf(payer, 40n), holdOf(other, 40n)]
    await Promise.all([bad, good].map(ledger.hold))
    await breakFor(payer, sqlState)
    const [refusal, settled] = await Promise.all([
      ledger.settle(costOf(bad, 30n)),
      ledger.settle(costOf(good, 20n)),
    ])
    expect(refusal).toMatchObject({ outcome: 'refused', chargedNano: 0n })
    expect(settled).toMatchObject({ outcome: 'settled', chargedNano: 20n })
    const row = { id: bad.id, account_id: payer.accountId, cost_nano: 30, reason: 'what nobody thought of' }
    expect([...(await refused())]).toEqual([row])
    // What is owed stays set aside.
    expect(await wallet(payer)).toMatchObject({ balanceNano: 100n, pendingNano: 40n })
    const red = await check(payer)
    expect(red).toMatchObject({ ok: false, found: { count: 1, differenceNano: 30n } })
    expect(red.found?.first[0]).toContain('what nobody thought of')

    await ledger.maintain()
    const tried = await sql`select tried_at > refused_at as again from refused_settlement`
    expect([...tried]).toEqual([{ again: true }])
    await mend()
    await ledger.maintain()
    expect(await refused()).toHaveLength(0)
    expect(await wallet(payer)).toMatchObject({ balanceNano: 70n, pendingNano: 0n })
    expect(await check(payer)).toMatchObject({ ok: true, found: { count: 0 } })
  })
})

test('a charge of an account that is not in a restored database is kept with that reason and told by the audit, and those beside it are posted', async () => {
  const payer = await fixture.payer(100n)
  const request = holdOf(payer, 40n)
  await ledger.hold(request)
  const unknown = { id: newId(), accountId: 1_000_000, keyId: payer.keyId }
  const [kept, settled] = await Promise.all([
    ledger.settle(costOf(unknown, 30n)),
    ledger.settle(costOf(request, 20n)),
  ])
  expect(kept).toMatchObject({ outcome: 'refused', chargedNano: 0n })
  expect(settled).toMatchObject({ outcome: 'settled', chargedNano: 20n })
  expect([...(await refused())]).toEqual([
    { id: unknown.id, account_id: 1_000_000, cost_nano: 30, reason: 'the database has no account 1000000' },
  ])
  const { ok, checks } = await audit(url)
  expect([ok, checks.find(({ name }) => name === 'house')?.first]).toEqual([
    false,
    [expect.stringContaining(`request ${unknown.id} of account 1000000: a charge of 0.000000030 is refused`)],
  ])
  await sql`delete from refused_settlement where id = ${unknown.id}`
})

/** A charge of an account that was made after the backup: of the next id that the restored database gives out. */
async function chargeOfLostAccount(): Promise<Payer & { id: string }> {
  const { accountId, keyId } = await fixture.payer(100n)
  const lost = { id: newId(), accountId: accountId + 1, keyId: keyId + 1 }
  expect(await ledger.settle(costOf(lost, 30n))).toMatchObject({ outcome: 'refused' })
  return lost
}

test('an account that gets the id of one that a restored database lacks does not pay what that was charged', async () => {
  const lost = await chargeOfLostAccount()
  const stranger = await fixture.payer(100n)
  expect(stranger.accountId).toBe(lost.accountId)
  await ledger.maintain()
  expect(await wallet(stranger)).toMatchObject({ balanceNano: 100n })
  expect(await refused()).toMatchObject([{ id: lost.id }])
  await sql`delete from refused_settlement where id = ${lost.id}`
})

test('nor does it pay what is found in a file after it was made', async () => {
  const stranger = await fixture.payer(100n)
  const [lost, late] = [
    { ...stranger, id: Bun.randomUUIDv7('hex', Date.now() - 120_000) },
    { ...stranger, id: newId() },
  ]
  // Of a request that ran before the backup, and has its hold.
  const known = { ...holdOf(stranger, 40n), id: Bun.randomUUIDv7('hex', Date.now() - 120_000) }
  await ledger.hold(known)
  const left = [costOf(lost, 30n), costOf(late, 5n), costOf(known, 7n)]
  writeFileSync(join(fixture.directory, 'left.journal'), encodeRecords(left))
  await ledger.maintain()
  expect(await wallet(stranger)).toMatchObject({ balanceNano: 88n, pendingNano: 0n })
  await ledger.maintain()
  const reason = `account ${stranger.accountId} was made later`
  expect([...(await refused())]).toEqual([
    { id: lost.id, account_id: stranger.accountId, cost_nano: 30, reason },
  ])
  await sql`delete from refused_settlement where id = ${lost.id}`
})

test('what is found in a file and was posted before is not refused, though its account is younger', async () => {
  const payer = await fixture.payer(100n)
  const request = { ...holdOf(payer, 40n), id: Bun.randomUUIDv7('hex', Date.now() - 120_000) }
  await ledger.hold(request)
  expect(await ledger.settle(costOf(request, 30n))).toMatchObject({ outcome: 'settled' })
  writeFileSync(join(fixture.directory, 'left2.journal'), encodeRecords([costOf(request, 30n)]))
  await ledger.maintain()
  expect(readdirSync(fixture.directory)).not.toContain('left2.journal')
  expect([...(await refused())]).toEqual([])
  expect(await wallet(payer)).toMatchObject({ balanceNano: 70n, pendingNano: 0n })
})

test('what docs/deployment.md has an owner do after a restore moves all ids past those that were given out', async () => {
  const page = await Bun.file(new URL('../../docs/deployment.md', import.meta.url)).text()
  const [, moving = ''] = /```sql\n(select setval[^`]+)```/.exec(page) ?? []
  const lost = await chargeOfLostAccount()
  expect(await sql.unsafe(moving)).not.toHaveLength(0)
  const next = await fixture.payer(100n)
  expect(next).toMatchObject({ accountId: lost.accountId + 1_000_000, keyId: lost.keyId + 1_000_000 })
  const still = await sql`
    select sequencename from pg_sequences where schemaname = current_schema() and coalesce(last_value, 0) < 1000000`
  expect([...still]).toEqual([])
  await sql`delete from refused_settlement where id = ${lost.id}`
})

test('one is tried again behind however many that are refused again', async () => {
  await sql`insert into refused_settlement (id, account_id, key_id, cost_nano, cost_pico, reason)
    select ledger_new_id(), 1000000, 1, 1, 1000, 'none' from generate_series(1, 501)`
  const payer = await fixture.payer(100n)
  const request = holdOf(payer, 40n)
  await ledger.hold(request)
  await fixture.store.keepRefused(costOf(request, 30n), 'for now')
  await ledger.maintain()
  expect(await wallet(payer)).toMatchObject({ balanceNano: 70n, pendingNano: 0n })
  expect(await refused()).toHaveLength(501)
  await sql`delete from refused_settlement`
})

test('a charge that was refused and posted by another way meanwhile is charged once', async () => {
  const payer = await fixture.payer(100n)
  const request = holdOf(payer, 40n)
  await ledger.hold(request)
  await breakFor(payer, '23514')
  await ledger.settle(costOf(request, 30n))
  await mend()
  expect(await ledger.settle(costOf(request, 30n))).toMatchObject({ outcome: 'settled' })
  await ledger.maintain()
  expect(await refused()).toHaveLength(0)
  expect(await wallet(payer)).toMatchObject({ balanceNano: 70n, pendingNano: 0n })
})

test('a charge that the database has no numbers for is kept all the same', async () => {
  const payer = await fixture.payer(100n)
  const request = { ...payer, id: newId() }
  expect(await ledger.settle(costOf(request, 2n ** 63n))).toMatchObject({ outcome: 'refused' })
  const [kept] = await sql`select cost_nano from refused_settlement where id = ${request.id}`
  expect(kept).toEqual({ cost_nano: `${2n ** 63n}` })
  await sql`delete from refused_settlement where id = ${request.id}`
})

test('one that cannot be kept there either goes to the journal, and is kept when it can be', async () => {
  const payer = await fixture.payer(100n)
  const request = holdOf(payer, 40n)
  await ledger.hold(request)
  await breakFor(payer, '23514')
  await sql`alter table refused_settlement rename to elsewhere`
  expect(await ledger.settle(costOf(request, 30n))).toMatchObject({ outcome: 'journaled' })
  expect(ledger.state().journal).toBe('in use')
  await sql`alter table elsewhere rename to refused_settlement`
  await ledger.beat()
  expect(ledger.state().journal).toBe('empty')
  expect(await refused()).toMatchObject([{ id: request.id }])
  await mend()
  await ledger.maintain()
  expect(await wallet(payer)).toMatchObject({ balanceNano: 70n, pendingNano: 0n })
})

test('without a journal, one that nothing takes is told to whoever charges', async () => {
  const bare = await fixture.open({ journalDirectory: undefined })
  const payer = await fixture.payer(100n)
  const request = holdOf(payer, 40n)
  await bare.hold(request)
  await breakFor(payer, '23514')
  await sql`alter table refused_settlement rename to elsewhere`
  const failure = bare.settle(costOf(request, 30n)).catch(error => error)
  expect(await failure).toMatchObject({ message: 'what nobody thought of' })
  await sql`alter table elsewhere rename to refused_settlement`
  await mend()
})

test('what frees a hold and charges nothing is not refused, whoever has the id of its account by now', async () => {
  const payer = await fixture.payer(100n)
  const early = { ...payer, id: Bun.randomUUIDv7('hex', Date.now() - 120_000) }
  writeFileSync(join(fixture.directory, 'left3.journal'), encodeRecords([costOf(early, 0n)]))
  await ledger.maintain()
  expect(readdirSync(fixture.directory)).not.toContain('left3.journal')
  expect([...(await refused())]).toEqual([])
  expect(await wallet(payer)).toMatchObject({ balanceNano: 100n })
})

test("an account pays what was left on a machine whose clock is behind the database's", async () => {
  const payer = await fixture.payer(100n)
  const late = { ...systemClock, every: () => () => undefined, now: () => Date.now() - 600_000 }
  const request = { ...payer, id: Bun.randomUUIDv7('hex', late.now()) }
  writeFileSync(join(fixture.directory, 'left4.journal'), encodeRecords([costOf(request, 30n)]))
  await fixture.open({ clock: late })
  expect([...(await refused())]).toEqual([])
  expect(await wallet(payer)).toMatchObject({ balanceNano: 70n })
})

test('but not for another account, where that clock is years behind', async () => {
  const stranger = await fixture.payer(100n)
  const old = { ...systemClock, every: () => () => undefined, now: () => Date.UTC(2000) }
  const lost = { ...stranger, id: Bun.randomUUIDv7('hex', Date.now() - 2 * 3_600_000) }
  writeFileSync(join(fixture.directory, 'left5.journal'), encodeRecords([costOf(lost, 30n)]))
  await fixture.open({ clock: old })
  expect(await refused()).toMatchObject([{ id: lost.id }])
  expect(await wallet(stranger)).toMatchObject({ balanceNano: 100n })
  await sql`delete from refused_settlement where id = ${lost.id}`
})
