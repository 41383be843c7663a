import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { TransactionSql } from 'postgres'
import { sqlErrorOf } from '@/db/sql-error.ts'
import { audit } from '@/ledger/audit.ts'
import type { LedgerOptions } from '@/ledger/ledger.ts'
import { keySpending, ledgerStore } from '@/ledger/store.ts'
import { createLog } from '@/telemetry/log.ts'
import { costOf, holdOf, ledgerFixture, newId, type Payer } from './fixture.ts'

const fixture = await ledgerFixture()
const ledger = await fixture.open()
const { sql, url } = fixture.database
afterAll(() => fixture.close())

/** An account with a history: paid, used twice, one exchange running. */
async function busyPayer(): Promise<Payer> {
  const payer = await fixture.payer(100n)
  for (const cost of [3n, 4n]) {
    const request = holdOf(payer, 10n)
    await ledger.hold(request)
    await ledger.settle(costOf(request, cost))
  }
  await ledger.hold(holdOf(payer, 10n))
  return payer
}

const failed = ({ checks }: Awaited<ReturnType<typeof audit>>) =>
  checks.filter(check => check.count > 0 && !check.informational).map(({ name }) => name)

describe('finds nothing', () => {
  test('in a ledger that only its functions wrote to', async () => {
    await busyPayer()
    await ledger.maintain()
    const report = await audit(url)
    expect([report.ok, failed(report), report.brokenAccounts]).toEqual([true, [], []])
  })

  test('wrong with what a key with a cap has spent: charged, corrected in another period, refunded, after another cap', async () => {
    const payer = await fixture.payer(1_000n, { cap: { amountNano: 500n, period: 'day' } })
    const spent = async () => {
      return (await keySpending(sql, [payer.keyId])).get(payer.keyId) ?? 0n
    }
    const isWhole = async () => failed(await audit(url, { accountId: payer.accountId }))
    const use = async (cost: bigint) => {
      const request = holdOf(payer, 10n)
      await ledger.hold(request)
      await ledger.settle(costOf(request, cost))
      return request
    }
    await use(5n)
    expect([await spent(), await isWhole()]).toEqual([5n, []])
    // Charged at its checkpoint in the day before, and corrected to less in this one, of which it is no part.
    const late = holdOf(payer, 10n)
    await ledger.hold(late)
    await sql`update hold set progress = 9, deadline = '-infinity' where id = ${late.id}`
    await ledgerStore(fixture.database).reap(3_600_000, 1_000)
    expect([await spent(), await isWhole()]).toEqual([14n, []])
    await sql`update key_budget set period_start = period_start - interval '1 day' where key_id = ${payer.keyId}`
    expect(await ledger.settle(costOf(late, 2n))).toMatchObject({ outcome: 'trued_up', chargedNano: -7n })
    expect([await spent(), await isWhole()]).toEqual([0n, []])
    const used = await use(6n)
    expect([await spent(), await isWhole()]).toEqual([6n, []])
    await ledger.giveBack([used], 'it ran again')
    expect([await spent(), await isWhole()]).toEqual([0n, []])
    await sql`update api_key set cap_period = 'month' where id = ${payer.keyId}`
    await use(4n)
    expect([await spent(), await isWhole()]).toEqual([4n, []])
    await ledger.settle(costOf({ ...payer, id: newId() }, 3n))
    expect([await spent(), await isWhole()]).toEqual([7n, []])
  })

  test('wrong with an account below zero, but lists it', async () => {
    const payer = await fixture.payer(5n)
    const request = holdOf(payer, 5n)
    await ledger.hold(request)
    await ledger.settle(costOf(request, 12n))
    const report = await audit(url, { accountId: payer.accountId })
    const negative = report.checks.find(({ name }) => name === 'negative_wallets')
    expect([report.ok, negative?.count, negative?.differenceNano]).toEqual([true, 1, 7n])
    expect(negative?.first[0]).toContain(`account ${payer.accountId}: -0.000000007 since entry 2`)
  })

  test('wrong with receipts of requests whose charges are on their way', async () => {
    const payer = await busyPayer()
    const [running] = await sql<{ id: string }[]>`select id from hold where account_id = ${payer.accountId}`
    await sql`with priced as (
        insert into price_version (model_id, rates, source) values ('m', '{"per_request": "2000"}', 'file') returning id)
      insert into exchange (id, account_id, key_id, surface, streamed, usage_source, price_version, cost_nano, cost_pico,
        status, end_state, started_at, total_ms, attempts)
      select made.id, ${payer.accountId}, 1, 'chat', false, 'reported', priced.id, 2, 2000, 200, 'complete', made.at, 5, 1
      from priced, (values (${newId()}::uuid, now()), (${running?.id ?? ''}::uuid, now() - interval '1 hour')) made(id, at)`
    expect(failed(await audit(url, { accountId: payer.accountId }))).toEqual([])
  })

  test('wrong with the receipt of a request that was charged at its checkpoint, and corrected', async () => {
    const payer = await fixture.payer(100n)
    const late = holdOf(payer, 10n)
    await ledger.hold(late)
    await sql`update hold set progress = 9, deadline = '-infinity' where id = ${late.id}`
    await fixture.store.reap(3_600_000, 1_000)
    await ledger.settle(costOf(late, 2n))
    await sql`with priced as (
        insert into price_version (model_id, rates, source) values ('m', '{"per_request": "2000"}', 'file') returning id)
      insert into exchange (id, account_id, key_id, surface, streamed, usage_source, price_version, cost_nano, cost_pico,
        status, end_state, started_at, total_ms, attempts)
      select ${late.id}, ${payer.accountId}, 1, 'chat', false, 'reported', id, 2, 2000, 200, 'complete',
        now() - interval '1 hour', 5, 1 from priced`
    expect(failed(await audit(url, { accountId: payer.accountId }))).toEqual([])
  })

  test('wrong with holds whose process was heard of within a minute, or whose time was over', async () => {
    const payer = await busyPayer()
    const [owner, late] = [newId(), holdOf(payer, 10n)]
    await sql`insert into process (id, address, seen) values (${owner}, 'test', now() - interval '30 seconds')`
    await sql`update hold set owner = ${owner}, opened_at = now() - interval '5 minutes' where account_id = ${payer.accountId}`
    await ledger.hold(late)
    await sql`update hold set deadline = now() - interval '30 seconds' where id = ${late.id}`
    expect(failed(await audit(url, { accountId: payer.accountId }))).toEqual([])
  })
})

/** Writes behind the back of every trigger, as a restored backup or a superuser could. */
function tamper(act: (tx: TransactionSql<{ bigint: bigint }>, payer: Payer) => PromiseLike<unknown>) {
  return async (payer: Payer) => {
    await sql.begin(async tx => {
      await tx`set local session_replication_role = replica`
      await act(tx, payer)
    })
  }
}

/** What the audit says of a part of the schema that is not as it was made. */
const UNMADE = 'is missing, switched off or not as the migrations made it'

describe('finds', () => {
  /** Whose books are good, until a test has changed something of them for another's. */
  let bystander: Payer
  beforeAll(async () => {
    bystander = await busyPayer()
  })

  test.each<[string, ReturnType<typeof tamper>, string[]]>([
    [
      'credit that no entry gave',
      tamper(
        (tx, { accountId }) => tx`update wallet set credits = credits + 1 where account_id = ${accountId}`,
      ),
      ['wallet_sums', 'grants'],
    ],
    [
      'a charge that was taken back',
      tamper(
        (tx, { accountId }) => tx`update wallet set debits = debits - 4 where account_id = ${accountId}`,
      ),
      ['wallet_sums'],
    ],
    [
      'an entry that is gone',
      tamper((tx, { accountId }) => tx`delete from entry where account_id = ${accountId} and seq = 2`),
      ['wallet_sums', 'sequence', 'chain'],
    ],
    [
      'an entry more',
      tamper(
        (tx, { accountId }) => tx`insert into entry (id, kind, account_id, seq, amount, balance_after)
          values (${newId()}, 'promo', ${accountId}, 4, 5, 98)`,
      ),
      ['wallet_sums', 'sequence'],
    ],
    [
      'an amount that was changed',
      tamper(
        (tx, { accountId }) => tx`update entry set amount = amount - 1, cost_pico = cost_pico + 1000
          where account_id = ${accountId} and seq = 2`,
      ),
      ['wallet_sums', 'chain'],
    ],
    [
      'a balance that was changed',
      tamper(
        (tx, { accountId }) =>
          tx`update entry set balance_after = balance_after + 1 where account_id = ${accountId} and seq = 2`,
      ),
      ['chain'],
    ],
    [
      'credit whose terms were changed',
      tamper(
        (tx, { accountId }) => tx`with less as (
            update ledger_grant set amount = amount - 1 where account_id = ${accountId})
          insert into ledger_grant (entry_id, entry_kind, account_id, kind, amount, priority)
            select id, kind, account_id, 'promo', 1, 1 from entry where account_id = ${accountId} and seq = 2`,
      ),
      ['grants'],
    ],
    [
      'a redeem code that was used and gave nothing',
      tamper(
        (tx, { accountId }) => tx`with code as (
            insert into redeem_code (code_hash, amount, max_uses, uses) values (sha256(${`${accountId}`}), 5, 9, 1)
            returning code_hash)
          insert into redemption (code_hash, account_id, entry_id) select code_hash, ${accountId}, ${newId()} from code`,
      ),
      ['redemptions'],
    ],
    [
      'credit set aside for nothing',
      tamper(
        (tx, { accountId }) => tx`update wallet set pending = pending + 1 where account_id = ${accountId}`,
      ),
      ['pending'],
    ],
    [
      'a hold that is gone',
      tamper((tx, { accountId }) => tx`delete from hold where account_id = ${accountId}`),
      ['pending'],
    ],
    [
      'a key whose budget forgot a charge',
      tamper(
        (tx, { accountId, keyId }) => tx`with marked as (
            update entry set budget_key_id = ${keyId} where account_id = ${accountId} and seq = 2)
          insert into key_budget (key_id, period, period_start, spent) values (${keyId}, 'total', '1970-01-01', 2)`,
      ),
      ['key_budgets'],
    ],
    [
      'a key whose budget counts what it was not charged',
      tamper(
        (tx, { keyId }) => tx`insert into key_budget (key_id, period, period_start, spent)
          values (${keyId}, 'total', '1970-01-01', 1)`,
      ),
      ['key_budgets'],
    ],
    [
      'a budget whose period is yet to begin',
      tamper(
        (tx, { keyId }) => tx`insert into key_budget (key_id, period, period_start)
          values (${keyId}, 'day', date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' + interval '1 day')`,
      ),
      ['key_budgets'],
    ],
    [
      'a budget that begins within its period',
      tamper(
        (tx, { keyId }) => tx`insert into key_budget (key_id, period, period_start)
          values (${keyId}, 'month', '2026-01-02T00:00Z')`,
      ),
      ['key_budgets'],
    ],
    [
      'a hold that nobody answers for',
      tamper(
        (tx, { accountId }) => tx`update hold set owner = ${newId()}, opened_at = now() - interval '5 minutes'
          where account_id = ${accountId}`,
      ),
      ['orphan_holds'],
    ],
    [
      'a refund of more than the request cost',
      tamper(
        (
          tx,
          { accountId },
        ) => tx`update entry set kind = 'usage_refund', amount = 100, ref = (select id::text from entry
          where account_id = ${accountId} and seq = 2) where account_id = ${accountId} and seq = 1`,
      ),
      ['grants', 'usage_refunds'],
    ],
    [
      'a correction of what was settled by its owner',
      tamper(
        (tx, { accountId }) => tx`insert into entry (id, kind, account_id, seq, amount, balance_after)
          select id, 'usage_trueup', account_id, 4, -1, 92 from entry where account_id = ${accountId} and seq = 2`,
      ),
      ['wallet_sums', 'sequence', 'usage_once'],
    ],
    [
      'a receipt that says something else',
      tamper(
        (
          tx,
          { accountId },
        ) => tx`insert into exchange (id, account_id, key_id, surface, streamed, usage_source, cost_nano,
            cost_pico, status, end_state, started_at, total_ms, attempts)
          select id, account_id, 1, 'chat', false, 'reported', 9, 9000, 200, 'complete', now() - interval '1 hour', 5, 1
          from entry where account_id = ${accountId} and seq = 2`,
      ),
      ['exchanges', 'receipts'],
    ],
    [
      'a receipt whose exact cost is another than its entry says, though both round to the same',
      tamper(
        (tx, { accountId }) => tx`
          insert into exchange (id, account_id, key_id, surface, streamed, usage_source, cost_nano, cost_pico, status, end_state,
            started_at, total_ms, attempts)
          select id, account_id, 1, 'chat', false, 'reported', -amount, cost_pico - 1, 200, 'complete', now(), 5, 1
          from entry where account_id = ${accountId} and seq = 2`,
      ),
      ['exchanges', 'receipts'],
    ],
    [
      'a receipt that says that nothing was charged',
      tamper(
        (tx, { accountId }) => tx`with older as (
            update entry set created_at = now() - interval '1 hour' where account_id = ${accountId} and seq = 2 returning id)
          insert into exchange (id, account_id, key_id, surface, streamed, usage_source, status, end_state, started_at,
            total_ms, attempts)
          select id, ${accountId}, 1, 'chat', false, 'reported', 200, 'complete', now() - interval '1 hour', 5, 1 from older`,
      ),
      ['exchanges'],
    ],
    [
      'a refund of what is no request, and goes on to what else there is',
      tamper(async (tx, { accountId }) => {
        await tx`update entry set kind = 'usage_refund', ref = 'request 7' where account_id = ${accountId} and seq = 1`
        await tx`update wallet set pending = pending + 1 where account_id = ${accountId}`
      }),
      ['grants', 'pending', 'usage_refunds'],
    ],
    [
      'credit whose entry is of another kind',
      tamper(
        (tx, { accountId }) =>
          tx`update entry set kind = 'goodwill' where account_id = ${accountId} and seq = 1`,
      ),
      ['grants'],
    ],
    [
      'credit that is over and has no end',
      tamper(
        (tx, { accountId }) => tx`update ledger_grant set closed_at = now() where account_id = ${accountId}`,
      ),
      ['expiries'],
    ],
    [
      'credit of which was taken what it never was',
      tamper(async (tx, payer) => {
        await tx`update ledger_grant set amount = 3, expires_at = now() where account_id = ${payer.accountId}`
        await tx`update entry set kind = 'expiry', cost_pico = null, ref = (select entry_id::text from ledger_grant
          where account_id = ${payer.accountId}) where account_id = ${payer.accountId} and seq = 3`
      }),
      ['grants', 'expiries'],
    ],
    [
      'credit of which was taken more than it was, in two',
      tamper(async (tx, { accountId }) => {
        await tx`update ledger_grant set amount = 6, expires_at = now() where account_id = ${accountId}`
        await tx`update entry set kind = 'expiry', cost_pico = null, ref = (select entry_id::text from ledger_grant
          where account_id = ${accountId}) where account_id = ${accountId} and seq > 1`
      }),
      ['grants', 'expiries'],
    ],
    [
      'what was taken of no credit',
      tamper(
        (tx, { accountId }) => tx`update entry set kind = 'expiry', cost_pico = null, ref = 'credit 7'
        where account_id = ${accountId} and seq = 3`,
      ),
      ['expiries'],
    ],
    [
      'credit of a code that its account has not used',
      tamper(
        (tx, { accountId }) => tx`with given as (
          update entry set kind = 'promo', ref = 'redeem code 12' where account_id = ${accountId} and seq = 1)
        update ledger_grant set entry_kind = 'promo' where account_id = ${accountId}`,
      ),
      ['redemptions'],
    ],
    [
      'entries that leave out a number',
      tamper(async (tx, { accountId }) => {
        await tx`update entry set seq = 5 where account_id = ${accountId} and seq = 3`
        await tx`update wallet set seq = 5 where account_id = ${accountId}`
      }),
      ['sequence'],
    ],
    [
      'two entries with one number, and none with the next',
      tamper(
        (tx, { accountId }) => tx`update entry set seq = 3, balance_after = balance_after + 1
          where account_id = ${accountId} and seq = 2`,
      ),
      ['sequence', 'chain'],
    ],
    [
      'a wallet that counts an entry more',
      tamper((tx, { accountId }) => tx`update wallet set seq = 4 where account_id = ${accountId}`),
      ['sequence'],
    ],
    [
      'an entry with a number beyond its wallet',
      tamper((tx, { accountId }) => tx`update entry set seq = 5 where account_id = ${accountId} and seq = 3`),
      ['sequence'],
    ],
    [
      'a refund of what another account was charged',
      tamper(
        (tx, { accountId }) => tx`with refunded as (
            insert into entry (id, kind, account_id, seq, amount, balance_after, ref)
            select ${newId()}, 'usage_refund', ${accountId}, 4, 3, 96, id::text from entry
            where account_id = ${bystander.accountId} and seq = 2 returning id, kind), terms as (
            insert into ledger_grant (entry_id, entry_kind, account_id, kind, amount, priority)
            select id, kind, ${accountId}, 'returned', 3, 0 from refunded)
          update wallet set credits = credits + 3, seq = 4 where account_id = ${accountId}`,
      ),
      ['usage_refunds'],
    ],
    [
      'credit that was over before its end',
      tamper(
        (
          tx,
          { accountId },
        ) => tx`update ledger_grant set closed_at = now(), expires_at = now() + interval '1 hour'
          where account_id = ${accountId}`,
      ),
      ['expiries'],
    ],
    [
      'what was taken of the credit of another account',
      tamper(async (tx, { accountId }) => {
        await tx`update ledger_grant set expires_at = now() where account_id = ${bystander.accountId}`
        await tx`update entry set kind = 'expiry', cost_pico = null, ref = (select entry_id::text from ledger_grant
          where account_id = ${bystander.accountId}) where account_id = ${accountId} and seq = 3`
      }),
      ['expiries'],
    ],
    [
      'a budget of a key that sets aside what no hold does',
      tamper(
        (tx, { keyId }) => tx`insert into key_budget (key_id, period, period_start, pending)
          values (${keyId}, 'total', '1970-01-01', 1)`,
      ),
      ['pending'],
    ],
    [
      'a hold whose time is long over',
      tamper(
        (tx, { accountId }) =>
          tx`update hold set deadline = now() - interval '5 minutes' where account_id = ${accountId}`,
      ),
      ['orphan_holds'],
    ],
    [
      'a hold whose process was last seen minutes ago',
      tamper(async (tx, { accountId }) => {
        const owner = newId()
        await tx`insert into process (id, address, seen) values (${owner}, 'test', now() - interval '2 minutes')`
        await tx`update hold set owner = ${owner}, opened_at = now() - interval '5 minutes' where account_id = ${accountId}`
      }),
      ['orphan_holds'],
    ],
    [
      'a redeem code that gave less than it is worth',
      tamper(
        (tx, { accountId }) => tx`with code as (
            insert into redeem_code (code_hash, amount, max_uses, uses) values (sha256(${`less ${accountId}`}), 101, 9, 1)
            returning code_hash), given as (
            update entry set kind = 'promo' where account_id = ${accountId} and seq = 1 returning id), terms as (
            update ledger_grant set entry_kind = 'promo' where account_id = ${accountId})
          insert into redemption (code_hash, account_id, entry_id) select code_hash, ${accountId}, id from code, given`,
      ),
      ['redemptions'],
    ],
    [
      'a redeem code that gave another account what it is worth',
      tamper(
        (tx, { accountId }) => tx`with code as (
            insert into redeem_code (code_hash, amount, max_uses, uses) values (sha256(${`other ${accountId}`}), 100, 9, 1)
            returning code_hash), given as (
            update entry set kind = 'promo' where account_id = ${bystander.accountId} and seq = 1 returning id)
          insert into redemption (code_hash, account_id, entry_id) select code_hash, ${accountId}, id from code, given`,
      ),
      ['redemptions'],
    ],
    [
      'a request of another account that is charged to this one',
      tamper(
        (
          tx,
          { accountId },
        ) => tx`insert into exchange (id, account_id, key_id, surface, streamed, usage_source, status,
            end_state, started_at, total_ms, attempts)
          select id, ${accountId}, 1, 'chat', false, 'reported', 200, 'complete', now(), 5, 1
          from entry where account_id = ${bystander.accountId} and seq = 2`,
      ),
      ['exchanges'],
    ],
    [
      'a correction of another account in a request of this one',
      tamper(
        (tx, { accountId }) => tx`with corrected as (
            update entry set kind = 'usage_trueup' where account_id = ${bystander.accountId} and seq = 3 returning id)
          insert into exchange (id, account_id, key_id, surface, streamed, usage_source, status, end_state, started_at,
            total_ms, attempts)
          select id, ${accountId}, 1, 'chat', false, 'reported', 200, 'complete', now(), 5, 1 from corrected`,
      ),
      ['exchanges'],
    ],
    [
      'a receipt that is not its exact cost rounded up',
      tamper(
        (tx, { accountId }) => tx`with priced as (
            insert into price_version (model_id, rates, source) values ('m', '{"per_request": "2000"}', 'file') returning id)
          insert into exchange (id, account_id, key_id, surface, streamed, usage_source, price_version, cost_nano, cost_pico,
            status, end_state, started_at, total_ms, attempts)
          select entry.id, account_id, 1, 'chat', false, 'reported', priced.id, 3, 2000, 200, 'complete', now(), 5, 1
          from entry, priced where account_id = ${accountId} and seq = 2`,
      ),
      ['exchanges'],
    ],
    [
      'a receipt of a request that nobody was charged for',
      tamper(
        (tx, { accountId }) => tx`with priced as (
            insert into price_version (model_id, rates, source) values ('m', '{"per_request": "2000"}', 'file') returning id)
          insert into exchange (id, account_id, key_id, surface, streamed, usage_source, price_version, cost_nano, cost_pico,
            status, end_state, started_at, total_ms, attempts)
          select ${newId()}, ${accountId}, 1, 'chat', false, 'reported', id, 2, 2000, 200, 'complete',
            now() - interval '1 hour', 5, 1 from priced`,
      ),
      ['exchanges'],
    ],
  ])('%s', async (_what, act, expected) => {
    const payer = await busyPayer()
    await act(payer)
    const report = await audit(url, { accountId: payer.accountId })
    expect(report.ok).toBe(false)
    expect(failed(report)).toEqual(expected)
    const brokenBy = expected.some(name => ['wallet_sums', 'sequence', 'chain'].includes(name))
    expect(report.brokenAccounts).toEqual(brokenBy ? [payer.accountId] : [])
  })

  test('the budget of a key with a cap that is gone, with what was spent and set aside of it', async () => {
    const payer = await fixture.payer(1_000n, { cap: { amountNano: 500n, period: 'total' } })
    const found = async () => failed(await audit(url, { accountId: payer.accountId }))
    const forget = () => sql`delete from key_budget where key_id = ${payer.keyId}`
    const [request, running] = [holdOf(payer, 10n), holdOf(payer, 10n)]
    await ledger.hold(request)
    await forget()
    expect(await found()).toEqual(['pending'])
    await ledger.hold(running)
    await sql`update key_budget set pending = 20 where key_id = ${payer.keyId}`
    for (const one of [request, running]) await ledger.settle(costOf(one, 5n))
    expect(await found()).toEqual([])
    await forget()
    expect(await found()).toEqual(['key_budgets'])
  })

  test('no budget where a correction alone was charged to a key before it had a cap', async () => {
    const payer = await fixture.payer(100n)
    await ledger.settle(costOf({ ...payer, id: newId() }, 3n))
    await sql`update api_key set cap_nano = 50, cap_period = 'day' where id = ${payer.keyId}`
    expect(failed(await audit(url, { accountId: payer.accountId }))).toEqual([])
  })

  test('a trigger that was switched off, an entry outside of the months and without a wallet', async () => {
    await sql`alter table wallet disable trigger wallet_explained`
    await sql`insert into entry (id, kind, account_id, seq, amount, balance_after)
      values ('01000000-0000-7000-8000-000000000000', 'promo', 999999, 1, 1, 1)`
    const { checks } = await audit(url)
    await sql`alter table wallet enable trigger wallet_explained`
    const schema = checks.find(({ name }) => name === 'schema')
    expect(schema?.first.toSorted()).toEqual([
      'entry_default holds 1 entries that belong to no month',
      `trigger wallet_explained of wallet ${UNMADE}`,
    ])
    expect(checks.find(({ name }) => name === 'house')?.first).toContain(
      'account 999999: 1 entries and no wallet',
    )
  })

  test('whatever of the schema is missing, switched off or no longer held', async () => {
    const { database, close } = await ledgerFixture()
    const [row] = await database.sql<{ month: string; next: string }[]>`
      select to_char(now() at time zone 'UTC', 'YYYY_MM') as month,
        to_char(now() at time zone 'UTC' + interval '1 month', 'YYYY_MM') as next`
    const { month, next } = row ?? { month: '', next: '' }
    await database.sql.unsafe(`
      drop table entry_${next} cascade;
      alter table entry_${month} disable trigger entry_append_only;
      drop trigger entry_no_truncate on entry_${month};
      alter table entry disable trigger entry_no_truncate;
      alter table wallet disable trigger wallet_starts_empty, disable trigger wallet_kept, enable replica trigger wallet_no_truncate;
      alter table hold drop constraint hold_amount;
      alter table hold add constraint hold_amount check (amount > 0) not valid;
      drop function ledger_total_months(bigint, integer)`)
    const { ok, checks } = await audit(database.url)
    await close()
    expect([ok, checks.filter(({ count }) => count > 0).map(({ name }) => name)]).toEqual([false, ['schema']])
    expect(checks.find(({ name }) => name === 'schema')?.first.toSorted()).toEqual([
      `constraint hold_amount of hold ${UNMADE}`,
      `constraint ledger_grant_entry_id_entry_kind_entry_id_kind_fk of ledger_grant ${UNMADE}`,
      `function ledger_total_months ${UNMADE}`,
      `there is no partition for ${next.replace('_', '-')}`,
      `trigger entry_append_only of entry_${month} is missing, switched off or not that of entry`,
      `trigger entry_no_truncate of entry ${UNMADE}`,
      `trigger entry_no_truncate of entry_${month} is missing, switched off or not that of entry`,
      `trigger wallet_kept of wallet ${UNMADE}`,
      `trigger wallet_no_truncate of wallet ${UNMADE}`,
      `trigger wallet_starts_empty of wallet ${UNMADE}`,
    ])
  })

  test('whatever of the schema was replaced by something weaker of the same name', async () => {
    const { database, close } = await ledgerFixture()
    const [row] = await database.sql<{ month: string }[]>`
      select to_char(now() at time zone 'UTC', 'YYYY_MM') as month`
    await database.sql.unsafe(`
      create or replace function ledger_priority(p_grant text) returns integer language sql immutable as 'select 0';
      alter function ledger_entrust(uuid, bigint, timestamptz, bigint, bigint, bigint) security invoker;
      alter table hold drop constraint hold_amount, add constraint hold_amount check (amount >= 0);
      alter table redemption drop constraint redemption_code_hash_account_id_pk,
        add constraint redemption_code_hash_account_id_pk primary key (code_hash, account_id, entry_id);
      alter table redemption disable trigger all;
      drop index ledger_grant_trial;
      create unique index ledger_grant_trial on ledger_grant (account_id, entry_id) where kind = 'trial';
      drop index idempotent_run_key;
      alter table wallet alter credits drop not null;
      drop trigger wallet_kept on wallet;
      create trigger wallet_kept before delete on wallet for each row when (old.seq = 0) execute function ledger_refuse_change();
      drop trigger entry_no_truncate on entry_${row?.month};
      create trigger entry_no_truncate before insert on entry_${row?.month} execute function ledger_refuse_change();`)
    const { ok, checks } = await audit(database.url)
    await close()
    expect([ok, checks.filter(({ count }) => count > 0).map(({ name }) => name)]).toEqual([false, ['schema']])
    expect(checks.find(({ name }) => name === 'schema')?.first.toSorted()).toEqual([
      `column credits of wallet ${UNMADE}`,
      `constraint hold_amount of hold ${UNMADE}`,
      `constraint redemption_code_hash_account_id_pk of redemption ${UNMADE}`,
      `constraint redemption_code_hash_redeem_code_code_hash_fk of redemption ${UNMADE}`,
      `function ledger_entrust ${UNMADE}`,
      `function ledger_priority ${UNMADE}`,
      `trigger entry_no_truncate of entry_${row?.month} is missing, switched off or not that of entry`,
      `trigger wallet_kept of wallet ${UNMADE}`,
      `unique index idempotent_run_key of idempotent_run ${UNMADE}`,
      `unique index ledger_grant_trial of ledger_grant ${UNMADE}`,
    ])
  })

  test('nothing wrong with a schema that a newer program has migrated while this one still serves', async () => {
    const { database, close } = await ledgerFixture()
    await database.sql.unsafe(`
      alter table hold drop constraint hold_amount;
      insert into drizzle.__drizzle_migrations (hash, created_at)
        select 'newer', max(created_at) + 1 from drizzle.__drizzle_migrations`)
    expect(failed(await audit(database.url))).toEqual([])
    await close()
  })

  test('a request that is charged twice, and more in the wallets than the house owes', async () => {
    const { database, payer, close } = await ledgerFixture()
    const { accountId } = await payer(100n)
    const id = newId()
    await database.sql.begin(async tx => {
      await tx`set local session_replication_role = replica`
      await tx`alter table entry drop constraint entry_id_kind_pk cascade`
      await tx`insert into entry (id, kind, account_id, seq, amount, balance_after, cost_pico)
        values (${id}, 'usage', ${accountId}, 2, -5, 95, 5000), (${id}, 'usage', ${accountId}, 3, -5, 90, 5000)`
      await tx`update wallet set debits = 7, seq = 3 where account_id = ${accountId}`
    })
    const { checks } = await audit(database.url)
    await close()
    const found = (wanted: string) => checks.find(({ name }) => name === wanted)
    expect(found('usage_once')).toMatchObject({ count: 1, first: [`request ${id}: 2 entries of usage`] })
    expect(found('house')?.first).toEqual(['wallets hold 0.000000093, the house owes 0.000000090'])
    expect(found('sequence')).toMatchObject({ count: 0 })
  })

  test('a payment that is taken for posted, and is not', async () => {
    await sql`insert into idempotency (scope, key, id) values ('stripe', 'cs_lost', ${newId()})`
    const { checks } = await audit(url)
    expect(checks.find(({ name }) => name === 'postings')?.first[0]).toContain(
      'stripe cs_lost: there is no entry',
    )
    await sql`delete from idempotency where key = 'cs_lost'`
  })

  test('a redeem code that was used more often than it says', async () => {
    const [code = ''] = await fixture.codes({ amountNano: 5n, uses: 2 })
    await fixture.redeem(code, (await busyPayer()).accountId)
    await sql`update redeem_code set uses = 0 where amount = 5 and max_uses = 2`
    const { checks } = await audit(url)
    expect(checks.find(({ name }) => name === 'redeem_codes')).toMatchObject({ count: 1, differenceNano: 5n })
  })

  test('a day that is not what it was', async () => {
    await sql`insert into daily_total (day, kind, entries, amount) values ('2020-01-01', 'topup', 1, 5)`
    const { checks } = await audit(url)
    expect(checks.find(({ name }) => name === 'daily_totals')?.first).toEqual([
      '2020-01-01 topup: 1 entries of 0.000000005, now 0 of 0.000000000',
    ])
    await sql`delete from daily_total where day = '2020-01-01'`
  })

  test('a day and a month that leave out what is of them', async () => {
    const { database, payer, open, store, close } = await ledgerFixture()
    const { sql, url } = database
    const { accountId, keyId } = await payer(100n)
    const process = await open()
    const request = holdOf({ accountId, keyId }, 10n)
    await process.hold(request)
    await process.settle(costOf(request, 3n))
    await sql.begin(async tx => {
      await tx`set local session_replication_role = replica`
      await tx`update entry set created_at = now() - make_interval(days => 64 - 31 * seq::integer)`
    })
    await store.rollUp()
    await sql`select ledger_total_months(${accountId}, 9)`
    const totals = async () => {
      const { checks } = await audit(url)
      return checks
        .filter(({ name, count }) => name.endsWith('ly_totals') && count > 0)
        .map(({ name, count }) => [name, count])
    }
    expect(await totals()).toEqual([])
    await sql`delete from daily_total where day = (select min(day) from daily_total)`
    expect(await totals()).toEqual([['daily_totals', 1]])
    await sql`delete from monthly_total where month = (select min(month) from monthly_total)`
    expect(await totals()).toEqual([
      ['daily_totals', 1],
      ['monthly_totals', 1],
    ])
    await close()
  })

  test('a month that is not what its entries are', async () => {
    const { accountId } = await busyPayer()
    await sql`select ledger_total_months(${accountId}, 2)`
    const monthly = async () => (await audit(url)).checks.find(({ name }) => name === 'monthly_totals')
    expect(await monthly()).toMatchObject({ count: 0 })
    await sql`update monthly_total set debits = debits + 3 where account_id = ${accountId}`
    expect(await monthly()).toMatchObject({ count: 1, differenceNano: 3n })
    await sql`delete from monthly_total where account_id = ${accountId}`
  })
})

test('since the checkpoint it looks at what is new, and only the full audit at what is old', async () => {
  const [old, recent] = [await busyPayer(), await busyPayer()]
  await audit(url)
  for (const payer of [old, recent]) {
    const request = holdOf(payer, 10n)
    await ledger.hold(request)
    await ledger.settle(costOf(request, 2n))
  }
  const change = (seq: number) =>
    tamper(
      (tx, { accountId }) =>
        tx`update entry set balance_after = 0 where account_id = ${accountId} and seq = ${seq}`,
    )
  await change(2)(old)
  await change(4)(recent)
  const about = async (sinceCheckpoint: boolean) => {
    const { brokenAccounts } = await audit(url, { sinceCheckpoint })
    return brokenAccounts.filter(id => id === old.accountId || id === recent.accountId)
  }
  expect(await about(true)).toEqual([recent.accountId])
  // A broken account does not become good by being looked at.
  expect(await about(true)).toEqual([recent.accountId])
  expect(await about(false)).toEqual([old.accountId, recent.accountId])
})

test('since the checkpoint it finds an entry that no wallet counts', async () => {
  const payer = await busyPayer()
  await audit(url)
  const about = async () => {
    const { brokenAccounts } = await audit(url, { sinceCheckpoint: true })
    return brokenAccounts.includes(payer.accountId)
  }
  expect(await about()).toBe(false)
  await tamper(
    (tx, { accountId }) => tx`insert into entry (id, kind, account_id, seq, amount, balance_after)
      values (ledger_new_id(), 'promo', ${accountId}, 4, 5, 98)`,
  )(payer)
  expect(await about()).toBe(true)
})

test('since the checkpoint it looks at results of the day before it as well, which may be stored late', async () => {
  const [idle, { accountId }] = [await busyPayer(), await busyPayer()]
  await audit(url)
  await sql`update audit_checkpoint set audited_at = now() - interval '9 days' where account_id = ${idle.accountId}`
  const wrong = async (hoursAgo: number, sinceCheckpoint: boolean) => {
    const [row] = await sql<{ id: string }[]>`
      insert into exchange (id, account_id, key_id, surface, streamed, usage_source, cost_nano, cost_pico, status, end_state,
        started_at, total_ms, attempts)
      values (ledger_first_id(now() - make_interval(hours => ${hoursAgo})), ${accountId}, 1, 'chat', false, 'reported', 9, 1000,
        200, 'complete', now() - make_interval(hours => ${hoursAgo}), 5, 1) returning id`
    const found = failed(await audit(url, { accountId, sinceCheckpoint }))
    await sql`delete from exchange where id = ${row?.id ?? ''}`
    return found.includes('exchanges')
  }
  expect([await wrong(20, true), await wrong(28, true), await wrong(28, false)]).toEqual([true, false, true])
})

describe('in the serving process', () => {
  const inspector = (options: Partial<LedgerOptions> = {}) =>
    fixture.open({ timings: { auditMs: 60_000 }, ...options })
  const runs = async () => {
    const [row] = await sql<{ runs: bigint }[]>`select count(*) as runs from audit_run`
    return Number(row?.runs)
  }
  const lookBack = () => sql`update audit_run set started_at = started_at - interval '1 hour'`

  test('one of several processes audits what is new, and all of them know the result', async () => {
    await lookBack()
    const before = await runs()
    const processes = [await inspector(), await inspector(), await inspector()]
    await Promise.all(processes.map(one => one.inspect()))
    for (const one of processes) await one.inspect()
    expect(await runs()).toBe(before + 1)
    const [newest] = await sql<{ full: boolean; by: string | null; checks: { name: string }[] }[]>`
      select "full", "by", checks from audit_run order by id desc limit 1`
    expect(newest).toMatchObject({ full: false, by: null })
    expect(newest?.checks.map(({ name }) => name)).toContain('chain')
    expect(processes.map(one => one.state().lastAudit?.startedAt instanceof Date)).toEqual([true, true, true])
  })

  test('an account whose wallet is broken is suspended, once, the log says so, and the result is the same as by hand', async () => {
    const [broken, good] = [await busyPayer(), await busyPayer()]
    await audit(url)
    await tamper(
      (tx, { accountId }) => tx`update wallet set credits = credits + 1 where account_id = ${accountId}`,
    )(broken)
    // Whatever the passing of time makes wrong is wrong from here on.
    await tamper(async tx => {
      await tx`update exchange set started_at = started_at - interval '1 hour'`
      await tx`update entry set created_at = created_at - interval '1 hour'`
      await tx`update hold set opened_at = opened_at - interval '1 hour'`
      await tx`update process set seen = seen - interval '1 hour'`
      await tx`update video_job set created_at = created_at - interval '1 hour', leased_until = leased_until - interval '1 hour'`
    })(broken)
    const byHand = await audit(url, { sinceCheckpoint: true })
    await sql`update account set status = 'active' where id = ${broken.accountId}`
    await lookBack()
    const lines: string[] = []
    const log = createLog({ level: 'error', format: 'json' }, { write: line => lines.push(line) })
    const process = await inspector({ log })
    await process.inspect()
    expect(process.state().lastAudit?.ok).toBe(false)
    expect(lines).toHaveLength(1)
    const told: { msg: string; suspended: number[]; findings: { check: string }[] } = JSON.parse(
      lines[0] ?? '',
    )
    expect(told.msg).toBe('audit: THE LEDGER DOES NOT HOLD')
    expect(told.suspended).toEqual([broken.accountId])
    expect(told.findings.map(({ check }) => check)).toContain('wallet_sums')
    const [run] = await sql<
      { ok: boolean; suspended: bigint[]; checks: { name: string; count: number }[] }[]
    >`
      select ok, suspended, checks from audit_run order by id desc limit 1`
    expect(run?.suspended).toContain(BigInt(broken.accountId))
    const countsOf = (checks: readonly { name: string; count: number }[]) =>
      checks.map(({ name, count }) => [name, count])
    expect(countsOf(run?.checks ?? [])).toEqual(countsOf(byHand.checks))
    expect(await fixture.accounts.findAccount(broken.accountId)).toMatchObject({ status: 'suspended' })
    expect(await fixture.accounts.findAccount(good.accountId)).toMatchObject({ status: 'active' })
    const [act] =
      await sql`select email, action, target, before, after from admin_act order by id desc limit 1`
    expect(act).toEqual({
      email: 'ledger audit',
      action: 'account.suspend',
      target: `account ${broken.accountId}`,
      before: { status: 'active' },
      after: { status: 'suspended', reason: 'its balance is not what its entries say' },
    })
    expect((await audit(url, { accountId: broken.accountId })).suspendedAccounts).toEqual([])
    const refused = await ledger.hold(holdOf(broken, 1n))
    expect(refused).toMatchObject({ granted: false, reason: 'account_suspended' })
  })
})

describe('the database itself refuses', () => {
  test.each([
    ['to change an entry', 'update entry set amount = 1', 'TG004'],
    [
      'to change an entry in its partition',
      "do $$ begin execute 'update entry_' || to_char(now(), 'YYYY_MM') || ' set amount = 1'; end $$",
      'TG004',
    ],
    ['to remove an entry', 'delete from entry', 'TG004'],
    ['to empty the entries', 'truncate entry cascade', 'TG004'],
    [
      'to empty one month of them',
      "do $$ begin execute 'truncate entry_' || to_char(now(), 'YYYY_MM') || ' cascade'; end $$",
      'TG004',
    ],
    ['to remove a wallet', 'delete from wallet', 'TG004'],
    ['a wallet that moves without an entry', 'update wallet set credits = credits + 1', 'TG003'],
    ['a wallet that counts down', 'update wallet set debits = 0 where debits > 0', 'TG003'],
    [
      'an entry of nothing',
      `insert into entry (id, kind, account_id, seq, amount, balance_after) values (ledger_new_id(), 'promo', 1, 1, 0, 0)`,
      '23514',
    ],
    [
      'usage that gives',
      `insert into entry (id, kind, account_id, seq, amount, balance_after, cost_pico) values (ledger_new_id(), 'usage', 1, 1, 5, 0, 5000)`,
      '23514',
    ],
    [
      'usage that is not its exact cost rounded up',
      `insert into entry (id, kind, account_id, seq, amount, balance_after, cost_pico) values (ledger_new_id(), 'usage', 1, 1, -5, 0, 5001)`,
      '23514',
    ],
    [
      'an adjustment without a reason',
      `insert into entry (id, kind, account_id, seq, amount, balance_after) values (ledger_new_id(), 'adjustment', 1, 1, 5, 0)`,
      '23514',
    ],
    [
      'an id that is no UUIDv7',
      `insert into entry (id, kind, account_id, seq, amount, balance_after) values (gen_random_uuid(), 'promo', 1, 1, 5, 0)`,
      '23514',
    ],
  ])('%s', async (_what, statement, code) => {
    const error = await sql.unsafe(statement).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(sqlErrorOf(error)?.code).toBe(code)
  })
})
