import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { forgetMonth } from '#tests/ledger/fixture.ts'
import { SECRET } from '#tests/support/secret.ts'
import { fileDatabase } from '#tests/support/stores/file-database.ts'
import { keyStore } from '@/accounts/key-store.ts'
import { accountStore } from '@/accounts/store.ts'
import { accountCommands } from '@/commands/account.ts'
import { type Command, type CommandIo, UsageError } from '@/commands/command.ts'
import { ledgerCommands } from '@/commands/ledger.ts'
import { adminAct } from '@/db/schema.ts'
import { hashCode } from '@/ledger/redeem-code.ts'
import { LOST_AT_ONCE, ledgerStore } from '@/ledger/store.ts'

const db = await fileDatabase()
const store = accountStore(db)
let serial = 0

async function newAccount(): Promise<string> {
  serial += 1
  const input = { email: `a${serial}@x`, creditNano: 5_000_000_000n, onTrial: true, models: [] }
  return String((await store.createAccount(input)).id)
}

async function run(words: string) {
  const command = [...ledgerCommands, ...accountCommands].find(({ name }) =>
    words.startsWith(name),
  ) as Command
  const printed: string[] = []
  const io: CommandIo = {
    env: { DATABASE_URL: db.url, TOLLGATE_SECRET: SECRET },
    out: text => printed.push(text),
    error: () => undefined,
    terminal: false,
    now: Date.now,
  }
  const args = words
    .slice(command.name.length)
    .trim()
    .split(' ')
    .filter(word => word !== '')
  return { code: await command.run(args, io), text: printed.join('\n') }
}

const json = async (words: string) => JSON.parse((await run(`${words} --json`)).text)

test('the first entry after nothing ran for months has its month, which what only reads does not make', async () => {
  const month = () => db.sql`
    select to_regclass('entry_' || to_char(now() at time zone 'UTC', 'YYYY_MM')) is not null as there`
  await forgetMonth(db)
  await run('account list')
  expect([...(await month())]).toEqual([{ there: false }])
  expect((await json('audit')).ok).toBe(true)
  expect([...(await month())]).toEqual([{ there: true }])
  const id = await newAccount()
  expect(await json(`account credit ${id} 1 --reason test`)).toMatchObject({ balance: '6.000000000' })
  expect((await json('audit')).ok).toBe(true)
})

test('credit and debit post an entry, tell the balance, and are in the log', async () => {
  const id = await newAccount()
  expect(await json(`account credit ${id} 2.50 --reason transfer`)).toEqual({
    entry_id: expect.stringMatching(/^[0-9a-f-]{14}7/),
    balance: '7.500000000',
  })
  expect(await json(`account debit ${id} 0.000000001 --reason test`)).toMatchObject({
    balance: '7.499999999',
  })
  expect(await store.findAccount(Number(id))).toMatchObject({ balanceNano: 7_499_999_999n, onTrial: false })
  const acts = await db.orm
    .select()
    .from(adminAct)
    .where(eq(adminAct.target, `account ${id}`))
  expect(acts).toMatchObject([
    { action: 'account.credit', email: 'command line', after: { amount: '2.500000000', reason: 'transfer' } },
    { action: 'account.debit', email: 'command line', after: { amount: '-0.000000001', reason: 'test' } },
  ])
})

test('a debit takes what it says, also where that is more than there is: the next credit pays the debt first', async () => {
  const id = await newAccount()
  expect(await json(`account debit ${id} 7.50 --reason returned`)).toMatchObject({ balance: '-2.500000000' })
  expect(await json(`account credit ${id} 3 --reason transfer`)).toMatchObject({ balance: '0.500000000' })
})

test('credit that has an end is shown with it until it is used, and is used first', async () => {
  const id = await newAccount()
  await json(`account credit ${id} 3 --reason campaign --expires 2999-01-31`)
  await json(`account credit ${id} 2 --reason campaign --expires 30d`)
  await json(`account debit ${id} 2.5 --reason test`)
  const expected = [{ amount: '2.500000000', expires_at: '2999-01-31T00:00:00.000Z' }]
  expect(await json(`account show ${id}`)).toMatchObject({ balance: '7.500000000', expiring: expected })
  expect((await run(`account show ${id}`)).text).toMatch(
    /^expiring +2.500000000 at 2999-01-31T00:00:00.000Z$/m,
  )
  const [act] = await db.orm
    .select()
    .from(adminAct)
    .where(eq(adminAct.target, `account ${id}`))
  expect(act).toMatchObject({ after: { amount: '3.000000000', expires_at: '2999-01-31T00:00:00.000Z' } })
  await json(`account debit ${id} 2.5 --reason test`)
  expect(await json(`account show ${id}`)).toMatchObject({ balance: '5.000000000', expiring: [] })
  expect((await run(`account show ${id}`)).text).not.toContain('expiring')
})

test.each([
  ['account credit 1 0 --reason r', 'AMOUNT is "0" but must be a decimal amount above 0'],
  ['account credit 1 -1 --reason r', 'Unknown option'],
  ['account debit 1 1e3 --reason r', 'AMOUNT is "1e3"'],
  ['account credit 1 5', '--reason is missing'],
  ['account credit --reason \t 1 5', '--reason is missing'],
  ['account credit x 5 --reason r', 'ID is "x"'],
  ['account credit 1 5 --reason r --expires soon', '--expires is "soon" but must be an ISO time'],
  [
    'account credit 1 5 --reason r --expires 2020-01-01',
    '--expires is "2020-01-01" but must be in the future',
  ],
  ['account debit 1 5 --reason r --expires 30d', 'Unknown option'],
  ['redeem create --amount 5 --expires 2020-01-01', 'must be in the future'],
  ['redeem create --amount 5 --credit-expires x', '--credit-expires is "x" but must be an ISO time'],
  ['redeem create', '--amount is missing'],
  ['redeem create --amount 5 --uses 0', '--uses is "0" but must be a whole number from 1'],
  ['redeem create --amount 5 --count 10001', '--count is "10001" but must be'],
])('%s is wrong words', async (words, message) => {
  const refused = run(words)
  await expect(refused).rejects.toBeInstanceOf(UsageError)
  await expect(refused).rejects.toThrow(message)
})

test.each(['account credit 999999 5 --reason r', 'audit --account 999999'])('%s is refused', async words => {
  await expect(run(words)).rejects.toThrow('There is no account 999999')
})

test('redeem create prints each code once, and each is worth what was said as often as was said', async () => {
  const codes = await json('redeem create --amount 5.00 --count 3 --uses 2')
  expect(new Set(codes).size).toBe(3)
  const [act] = await db.orm.select().from(adminAct).where(eq(adminAct.action, 'redeem.create'))
  expect(act).toMatchObject({ target: '3 codes', after: { amount: '5.000000000', uses: 2, count: 3 } })
  const results: unknown[] = []
  for (const account of [await newAccount(), await newAccount(), await newAccount()]) {
    const code = hashCode(codes[1])
    const { result, amountNano } = await ledgerStore(db).redeem(Bun.randomUUIDv7(), code, Number(account))
    results.push([result, amountNano])
  }
  expect(results).toEqual([
    ['redeemed', 5_000_000_000n],
    ['redeemed', 5_000_000_000n],
    ['used_up', 0n],
  ])
  expect((await run('redeem create --amount 5')).text).toMatch(/^[0-9A-Z-]{29}$/)
  await run('redeem create --amount 7 --expires 2999-01-31T12:00Z')
  const [last] = await db.sql`select expires_at from redeem_code where amount = 7000000000`
  expect(last?.['expires_at']).toEqual('2999-01-31 12:00:00+00')
})

test('what a code gives can have an end, after which it cannot be redeemed', async () => {
  const [code = ''] = await json(
    'redeem create --amount 3 --uses 2 --expires 2998-01-01 --credit-expires 2999-01-31',
  )
  const id = await newAccount()
  const redeem = async (account: string) =>
    (await ledgerStore(db).redeem(Bun.randomUUIDv7(), hashCode(code), Number(account))).result
  expect(await redeem(id)).toBe('redeemed')
  const expiring = [{ amount: '3.000000000', expires_at: '2999-01-31T00:00:00.000Z' }]
  expect(await json(`account show ${id}`)).toMatchObject({ balance: '8.000000000', expiring })
  await db.sql`update redeem_code set credit_expires_at = now() where credit_expires_at is not null`
  expect(await redeem(await newAccount())).toBe('expired')
  expect(await redeem(id)).toBe('already_redeemed')
})

describe('audit', () => {
  test('exits 0 on a ledger that holds, in every mode', async () => {
    const id = await newAccount()
    for (const mode of ['', '--since-checkpoint', `--account ${id}`]) {
      const { ok, checks } = await json(`audit ${mode}`)
      expect(ok).toBe(true)
      expect(checks).toContainEqual(expect.objectContaining({ name: 'wallet_sums', ok: true, count: 0 }))
    }
    expect((await run('audit')).text).toEndWith('\nthe ledger holds')
  })

  test('exits 1 and names what does not hold', async () => {
    const id = await newAccount()
    await db.sql.begin(async tx => {
      await tx`set local session_replication_role = replica`
      await tx`update wallet set credits = credits + 1 where account_id = ${id}`
    })
    expect((await run(`audit --account ${await newAccount()}`)).code).toBe(0)
    const { code, text } = await run(`audit --account ${id}`)
    expect(code).toBe(1)
    expect(text).toContain(`wallet_sums: account ${id}: credits 5.000000001, entries 5.000000000`)
    expect(text).toEndWith('\nTHE LEDGER DOES NOT HOLD')
  })
})

describe('charges that a failover lost', () => {
  const requests = ledgerStore(db)

  /** Results of requests that cost 7 nano each: charged not at all, 2 at a checkpoint, in full, and not yet. */
  async function results(accountId: number) {
    const { id: keyId } = await keyStore(db).createKey({ accountId, name: '' })
    const [lost, corrected, charged, running] = [1, 2, 3, 4].map(() => Bun.randomUUIDv7())
    const ids = [lost, corrected, charged, running].map(String)
    const owner = Bun.randomUUIDv7()
    await requests.register(owner, 'test')
    for (const id of ids.slice(1))
      await requests.hold(owner, [
        { id, accountId, keyId, amountNano: 7n, priceVersion: 1, lifetimeMs: 600_000 },
      ])
    await db.sql`update hold set progress = 2, deadline = '-infinity' where id = ${String(corrected)}`
    await requests.reap(3_600_000, 100)
    await requests.settle([{ id: String(charged), accountId, keyId, costNano: 7n, costPico: 7_000n }])
    await db.sql`with priced as (
        insert into price_version (model_id, rates, source) values ('m', '{"per_request": "7000"}', 'file') returning id)
      insert into exchange (id, account_id, key_id, surface, streamed, usage_source, price_version, cost_nano, cost_pico,
        status, end_state, started_at, total_ms, attempts)
      select made.id::uuid, ${accountId}, ${keyId}, 'chat', false, 'reported', priced.id, 7, 7000, 200, 'complete',
        now() - interval '1 hour', 5, 1 from priced, unnest(${ids}::text[]) made(id)`
    return { lost, corrected, running: String(running), keyId }
  }

  test('are all made up for, however many', async () => {
    const id = await newAccount()
    const { id: keyId } = await keyStore(db).createKey({ accountId: Number(id), name: '' })
    const ids = Array.from({ length: 2 * LOST_AT_ONCE + 1 }, () => Bun.randomUUIDv7())
    await db.sql`insert into exchange (id, account_id, key_id, surface, streamed, usage_source, cost_nano, cost_pico, status,
        end_state, started_at, total_ms, attempts)
      select made.id::uuid, ${Number(id)}, ${keyId}, 'chat', false, 'reported', 7, 7000, 200, 'complete', now() - interval '1 hour', 5, 1
      from unnest(${ids}::text[]) made(id)`
    const { requests: made } = await json('charge lost --reason failover')
    expect(made.map((one: { request_id: string }) => one.request_id)).toEqual(ids.toSorted())
  })

  describe('of a result that is older than its account', () => {
    const hours = (count: number) => Bun.randomUUIDv7('hex', Date.now() - count * 3_600_000)
    const madeUp = async () =>
      (await json('charge lost --reason failover')).requests.map(
        (one: { request_id: string; charged: string }) => [one.request_id, one.charged],
      )

    test('are not named nor made up for: it is of one that had the same id before a backup was restored', async () => {
      const id = await newAccount()
      const { lost, corrected } = await results(Number(id))
      await db.sql`update exchange set id = ${hours(2)} where id = ${String(lost)}`
      expect(await madeUp()).toEqual([[corrected, '0.000000005']])
      expect((await json(`audit --account ${id}`)).ok).toBe(true)
    })

    test('nor where it is older by minutes, and was stored before the account was made', async () => {
      const id = await newAccount()
      const { lost, corrected } = await results(Number(id))
      await db.sql`update exchange set stored_at = now() - interval '2 minutes' where id in (${String(lost)}, ${String(corrected)})`
      expect(await madeUp()).toEqual([[corrected, '0.000000005']])
      expect((await json(`audit --account ${id}`)).ok).toBe(true)
    })

    test('are where it is older by less than an hour, as clocks differ', async () => {
      const id = await newAccount()
      const { lost, corrected } = await results(Number(id))
      const early = hours(0.5)
      await db.sql`update exchange set id = ${early} where id = ${String(lost)}`
      expect((await json(`audit --account ${id}`)).checks).toContainEqual(
        expect.objectContaining({ name: 'exchanges', count: 2 }),
      )
      expect(await madeUp()).toEqual([
        [early, '0.000000007'],
        [corrected, '0.000000005'],
      ])
    })

    test('are where some of it was charged: that was by its own hold', async () => {
      const id = await newAccount()
      const { lost, corrected } = await results(Number(id))
      await db.sql`update account set created_at = now() + interval '2 hours' where id = ${id}`
      await db.sql`delete from exchange where id = ${String(lost)}`
      expect((await json(`audit --account ${id}`)).checks).toContainEqual(
        expect.objectContaining({ name: 'exchanges', count: 1 }),
      )
      expect(await madeUp()).toEqual([[corrected, '0.000000005']])
      expect((await json(`audit --account ${id}`)).ok).toBe(true)
    })
  })

  test.each([
    ['', '4.999999972'],
    [' --write-off', '4.999999984'],
  ])(
    'are made up for by their results, once, after which the audit holds: charge lost%s',
    async (how, balance) => {
      const id = await newAccount()
      const { lost, corrected, running, keyId } = await results(Number(id))
      const audited = () => json(`audit --account ${id}`)
      expect(
        (await audited()).checks.find(({ name }: { name: string }) => name === 'exchanges'),
      ).toMatchObject({
        count: 2,
        difference: '0.000000012',
      })
      const made = {
        requests: [
          { request_id: lost, account_id: Number(id), charged: '0.000000007' },
          { request_id: corrected, account_id: Number(id), charged: '0.000000005' },
        ],
        written_off: how !== '',
      }
      expect(await json(`charge lost --reason failover${how}`)).toEqual(made)
      expect(await json(`charge lost --reason failover${how}`)).toEqual({ ...made, requests: [] })
      expect((await audited()).ok).toBe(true)
      // What a hold is kept for is charged by its process.
      await requests.settle([{ id: running, accountId: Number(id), keyId, costNano: 7n, costPico: 7_000n }])
      expect(await json(`account show ${id}`)).toMatchObject({ balance, pending: '0.000000000' })
      const acts = await db.orm.select().from(adminAct).where(eq(adminAct.action, 'ledger.charge_lost'))
      expect(acts.at(-1)?.after).toMatchObject({ requests: 2, charged: '0.000000012', reason: 'failover' })
    },
  )
})
