import { afterAll, expect, test } from 'bun:test'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator'
import { emptyTestDatabase } from '#tests/support/stores/database.ts'
import { connect } from '@/db/connect.ts'
import { migrate } from '@/db/migrate.ts'
import { audit } from '@/ledger/audit.ts'
import { hashCode } from '@/ledger/redeem-code.ts'
import { revokeCode } from '@/ledger/store.ts'

const database = await emptyTestDatabase()
const folder = mkdtempSync(join(tmpdir(), 'migrations-'))
afterAll(async () => {
  await database.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Brings a database to what it was after the migration of this number. */
async function migrateTo(last: number, url = database.url): Promise<void> {
  cpSync(join(import.meta.dir, '../../drizzle'), folder, { recursive: true })
  const path = join(folder, 'meta', '_journal.json')
  const journal = JSON.parse(readFileSync(path, 'utf8')) as { entries: { idx: number }[] }
  writeFileSync(
    path,
    JSON.stringify({ ...journal, entries: journal.entries.filter(({ idx }) => idx <= last) }),
  )
  const { sql, close } = connect(url, { max: 1 })
  await applyMigrations(drizzle(sql), { migrationsFolder: folder })
  await close()
}

const OWNER = Bun.randomUUIDv7()
const ids = { before: Bun.randomUUIDv7(), running: Bun.randomUUIDv7(), after: Bun.randomUUIDv7() }

/** An account with credit and a key that may spend 0.000001 a month. */
async function openAccount() {
  const { sql } = database
  const [account] = await sql<
    { id: bigint }[]
  >`insert into account (email) values ('a@example.com') returning id`
  const accountId = Number(account?.id)
  const [key] = await sql<{ id: bigint }[]>`
    insert into api_key (account_id, lookup, hash, cap_nano, cap_period)
    values (${accountId}, 'abcdefgh', decode(repeat('00', 32), 'hex'), 1000, 'month') returning id`
  await sql`insert into wallet (account_id) values (${accountId}) on conflict do nothing`
  await sql`select ledger_post(${Bun.randomUUIDv7()}, ${accountId}, 'topup', 5000, 'pi_1', 'paid', null, null, null)`
  await sql`insert into process (id, seen, address) values (${OWNER}, now(), 'test')`
  return { accountId, keyId: Number(key?.id) }
}

async function hold(id: string, { accountId, keyId }: { accountId: number; keyId: number }) {
  const [row] = await database.sql<{ result: string }[]>`
    select result from ledger_hold(${OWNER}, ${id}, ${accountId}, ${keyId}, 300, 1, 600000)`
  return row?.result
}

async function settle(id: string, { accountId, keyId }: { accountId: number; keyId: number }, cost: number) {
  const [row] = await database.sql<{ outcome: string }[]>`
    select outcome from ledger_settle(${id}, ${accountId}, ${keyId}, ${cost}, ${cost * 1000})`
  return row?.outcome
}

async function budget(keyId: number) {
  const [row] = await database.sql<{ spent: bigint; pending: bigint; unexplained: bigint }[]>`
    select spent, pending, unexplained from key_budget where key_id = ${keyId}`
  return row
}

async function broken(): Promise<string[]> {
  const { checks } = await audit(database.url)
  return checks
    .filter(({ count, informational }) => count > 0 && informational !== true)
    .map(({ name }) => name)
}

test('what keys with a cap had spent before their charges were marked still counts, and the audit holds', async () => {
  await migrateTo(19)
  const payer = await openAccount()
  expect(await hold(ids.before, payer)).toBe('granted')
  expect(await settle(ids.before, payer, 250)).toBe('settled')
  expect(await hold(ids.running, payer)).toBe('granted')

  expect(await migrate(database.url)).toBeGreaterThan(0)
  expect(await budget(payer.keyId)).toEqual({ spent: 250n, pending: 300n, unexplained: 250n })
  expect(await broken()).toEqual([])

  expect(await settle(ids.running, payer, 200)).toBe('settled')
  expect(await budget(payer.keyId)).toEqual({ spent: 450n, pending: 0n, unexplained: 250n })
  expect(await broken()).toEqual([])

  // 550 of the cap are left: one more hold fits, two do not.
  expect(await hold(ids.after, payer)).toBe('granted')
  expect(await hold(Bun.randomUUIDv7(), payer)).not.toBe('granted')
  expect(await settle(ids.after, payer, 300)).toBe('settled')
  expect(await broken()).toEqual([])
}, 60_000)

test('what was refunded and what failed of it before Tollgate kept what it was told is known, with its time', async () => {
  const old = await emptyTestDatabase()
  try {
    await migrateTo(22, old.url)
    const { sql } = old
    const [account] = await sql<
      { id: bigint }[]
    >`insert into account (email) values ('b@example.com') returning id`
    const accountId = Number(account?.id)
    await sql`insert into wallet (account_id) values (${accountId}) on conflict do nothing`
    const post = (kind: string, amount: number, reason: string, key: string) =>
      sql`select ledger_post(${Bun.randomUUIDv7()}, ${accountId}, ${kind}, ${amount}, 'pi_1', ${reason}, null, 'stripe', ${key})`
    await post('topup', 5000, 'paid', 'cs_1')
    await post('refund', -500, 'refunded at Stripe', 'ch_1 refunded 500 after 0')
    await post('adjustment', 500, 'the refund re_1 failed at 2026-01-02T03:04:05.000Z', 're_1 failed')
    await post('refund', -700, 'refunded at Stripe', 'ch_1 refunded 700 after 500')
    await post('adjustment', 200, 'the refund re_2 failed', 're_2 failed')

    await migrate(old.url)
    const facts = await sql<{ fact: string; is_failure: boolean; amount: bigint }[]>`
      select fact, is_failure, amount from refund_fact where payment = 'pi_1' order by fact`
    expect([...facts]).toEqual([
      { fact: 're_1 failed', is_failure: true, amount: 500n },
      { fact: 're_2 failed', is_failure: true, amount: 200n },
      // 1200 in all, of which 500 had failed by then.
      { fact: 'refunded so far', is_failure: false, amount: 700n },
    ])
    const [times] = await sql<{ noted: string; posted: boolean; last: boolean }[]>`
      select to_char(f.told_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') as noted,
        (select told_at from refund_fact where fact = 're_2 failed') = max(e.created_at) filter (where e.kind = 'adjustment') as posted,
        (select told_at from refund_fact where fact = 'refunded so far') = max(e.created_at) filter (where e.kind = 'refund') as last
      from refund_fact f, entry e where f.fact = 're_1 failed' group by f.told_at`
    expect(times).toEqual({ noted: '2026-01-02 03:04:05', posted: true, last: true })
  } finally {
    await old.close()
  }
}, 60_000)

test('codes from before they could be taken back are redeemed and taken back as new ones', async () => {
  const old = await emptyTestDatabase()
  try {
    await migrateTo(44, old.url)
    const { sql } = old
    const [one, other] = await sql<{ id: bigint }[]>`
      insert into account (email) values ('c@example.com'), ('d@example.com') returning id`
    const [oneId, otherId] = [Number(one?.id), Number(other?.id)]
    await sql`insert into wallet (account_id) values (${oneId}), (${otherId}) on conflict do nothing`
    const [used, open, unused] = [hashCode('used'), hashCode('open'), hashCode('unused')]
    await sql`insert into redeem_code (code_hash, amount, max_uses)
      values (${used}, 5, 1), (${open}, 5, 2), (${unused}, 5, 1)`
    const redeem = async (hash: Uint8Array, accountId: number) => {
      const [row] = await sql<{ result: string }[]>`
        select result from ledger_redeem(${Bun.randomUUIDv7()}, ${hash}, ${accountId})`
      return row?.result
    }
    expect([await redeem(used, oneId), await redeem(open, oneId)]).toEqual(['redeemed', 'redeemed'])

    await migrate(old.url)
    expect([await revokeCode(sql, used), await revokeCode(sql, unused)]).toEqual([false, true])
    const told = [await redeem(used, otherId), await redeem(open, otherId), await redeem(unused, otherId)]
    expect(told).toEqual(['used_up', 'redeemed', 'revoked'])
    const { ok } = await audit(old.url)
    expect(ok).toBe(true)
  } finally {
    await old.close()
  }
}, 60_000)

test('who was disabled before that took the mark of waiting for a link away has it no more', async () => {
  const old = await emptyTestDatabase()
  try {
    await migrateTo(44, old.url)
    await old.sql`
      with made as (insert into account (email) values ('e@example.com'), ('f@example.com') returning id, email)
      insert into console_user (email, password_hash, account_id, status, reset_requested_at)
      select email, 'x', id, case email when 'e@example.com' then 'disabled' else 'active' end, now() from made`
    await migrate(old.url)
    const waiting = await old.sql`select email from console_user where reset_requested_at is not null`
    expect([...waiting]).toEqual([{ email: 'f@example.com' }])
  } finally {
    await old.close()
  }
}, 60_000)
