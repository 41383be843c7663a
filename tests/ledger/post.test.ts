import { afterAll, describe, expect, test } from 'bun:test'
import { until } from '#tests/support/upstreams/upstream.ts'
import { audit } from '@/ledger/audit.ts'
import { hashCode } from '@/ledger/redeem-code.ts'
import { postEntry, revokeCode } from '@/ledger/store.ts'
import type { Posting } from '@/ledger/types.ts'
import { costOf, forgetMonth, holdOf, ledgerFixture, newId, type Payer } from './fixture.ts'

const fixture = await ledgerFixture()
const { store } = fixture
const ledger = await fixture.open()
const { sql, url } = fixture.database
afterAll(() => fixture.close())

const posting = (accountId: number, kind: Posting['kind'], amountNano: bigint): Posting => ({
  id: newId(),
  accountId,
  kind,
  amountNano,
})

describe('post', () => {
  test('the same id again changes nothing, and another amount under it is refused', async () => {
    const { accountId } = await fixture.payer(10n)
    const one = posting(accountId, 'topup', 5n)
    expect(await store.post(one)).toEqual({ entryId: one.id, posted: true, balanceNano: 15n })
    expect(await store.post(one)).toEqual({ entryId: one.id, posted: false, balanceNano: 15n })
    await expect(store.post({ ...one, amountNano: 6n })).rejects.toThrow('is there already')
    const other = await fixture.payer(10n)
    await expect(store.post({ ...one, accountId: other.accountId })).rejects.toThrow('is there already')
    expect(await store.post({ ...one, kind: 'goodwill' })).toMatchObject({ posted: true, balanceNano: 20n })
  })

  test("a payment provider's event counts once, also when it comes several times at once", async () => {
    const { accountId } = await fixture.payer(10n)
    const idempotency = { scope: 'stripe', key: `evt_${accountId}` }
    const results = await Promise.all(
      [1, 2, 3, 4].map(() => store.post({ ...posting(accountId, 'topup', 5n), idempotency })),
    )
    expect(new Set(results.map(({ entryId }) => entryId)).size).toBe(1)
    expect(results.filter(({ posted }) => posted)).toHaveLength(1)
    expect((await store.balance(accountId))?.balanceNano).toBe(15n)
    const elsewhere = { ...idempotency, scope: 'another provider' }
    const other = { ...posting(accountId, 'topup', 5n), idempotency: elsewhere }
    expect(await store.post(other)).toEqual({ entryId: other.id, posted: true, balanceNano: 20n })
  })

  test('a top-up ends the trial, and every process hears of it, once', async () => {
    const heard: string[] = []
    const { unlisten } = await sql.listen('tollgate_keys', told => heard.push(told))
    const { accountId } = await fixture.payer(10n, { onTrial: true })
    await store.post(posting(accountId, 'promo', 5n))
    expect((await fixture.accounts.findAccount(accountId)).onTrial).toBe(true)
    await store.post(posting(accountId, 'topup', 5n))
    expect((await fixture.accounts.findAccount(accountId)).onTrial).toBe(false)
    await store.post(posting(accountId, 'topup', 5n))
    await sql.notify('tollgate_keys', 'the last')
    await until(() => heard.includes('the last'))
    await unlisten()
    expect(heard).toEqual([`account:${accountId}`, 'the last'])
  })

  test('an account that has had credit of other kinds can be given its trial credit', async () => {
    const { accountId } = await fixture.payer(10n)
    expect((await store.post(posting(accountId, 'trial', 5n))).balanceNano).toBe(15n)
  })

  test('what only requests and time bring about is not posted by hand', async () => {
    const { accountId } = await fixture.payer(10n)
    for (const kind of ['usage', 'usage_trueup', 'expiry']) {
      const posted = sql`select ledger_post(${newId()}, ${accountId}, ${kind}, -1, ${newId()}, null, null, null, null)`
      await expect(posted.execute()).rejects.toThrow('are not posted by hand')
    }
  })

  test('under one name from outside each key counts once', async () => {
    const { accountId } = await fixture.payer(10n)
    const event = (key: string) =>
      store.post({ ...posting(accountId, 'topup', 5n), idempotency: { scope: 'events', key } })
    const results = [await event('one'), await event('two'), await event('one')]
    expect(results.map(({ posted }) => posted)).toEqual([true, true, false])
    expect((await store.balance(accountId))?.balanceNano).toBe(20n)
  })

  test('nobody is refunded what another account was charged, or what was no charge of a request', async () => {
    const [payer, other] = [await fixture.payer(10n), await fixture.payer(10n)]
    const request = holdOf(payer, 8n)
    await ledger.hold(request)
    await ledger.settle(costOf(request, 8n))
    const debit = { ...posting(other.accountId, 'debit', -4n), reason: 'a fee' }
    await store.post(debit)
    for (const ref of [request.id, debit.id]) {
      const refund = { ...posting(other.accountId, 'usage_refund', 1n), ref }
      await expect(store.post(refund)).rejects.toThrow('did not cost')
    }
    expect((await store.balance(other.accountId))?.balanceNano).toBe(6n)
  })

  test('a closed account takes no new credit, but what corrects its past and a payment that was made', async () => {
    const payer = await fixture.payer(10n)
    const { accountId } = payer
    const request = holdOf(payer, 4n)
    await ledger.hold(request)
    await ledger.settle(costOf(request, 4n))
    const [code = ''] = await fixture.codes({ amountNano: 7n, uses: 1 })
    await fixture.accounts.closeAccount(accountId)
    for (const kind of ['topup', 'trial', 'promo', 'goodwill'] as const) {
      await expect(store.post(posting(accountId, kind, 5n))).rejects.toThrow('is closed')
    }
    await expect(fixture.redeem(code, accountId)).rejects.toThrow('is closed')
    const late = { ...posting(accountId, 'topup', 5n), ref: 'pi_late' }
    expect((await store.post(late)).balanceNano).toBe(11n)
    const back = { ...posting(accountId, 'usage_refund', 4n), ref: request.id }
    expect((await store.post(back)).balanceNano).toBe(15n)
    expect((await store.post(posting(accountId, 'refund', -15n))).balanceNano).toBe(0n)
    expect((await audit(url, { accountId })).ok).toBe(true)
  })

  test.each<[string, (accountId: number) => Posting, string]>([
    ['an account that does not exist', () => posting(999_999, 'topup', 5n), 'There is no account 999999'],
    ['a second trial', id => posting(id, 'trial', 5n), 'has had its trial credit'],
    [
      'to give back money that is not there',
      id => posting(id, 'refund', -11n),
      'has less than that to give back',
    ],
    [
      'more than the ledger has numbers for',
      id => posting(id, 'topup', 2n ** 63n - 1n),
      'would hold more than the ledger has numbers for',
    ],
    [
      'to take more than the ledger has numbers for',
      id => posting(id, 'debit', -(2n ** 63n)),
      'would hold more than the ledger has numbers for',
    ],
    [
      'credit that has expired',
      id => ({ ...posting(id, 'promo', 5n), expiresAt: new Date(0) }),
      'has expired',
    ],
    [
      'a refund of a request that it did not make',
      id => ({ ...posting(id, 'usage_refund', 1n), ref: newId() }),
      'did not cost',
    ],
  ])('refuses %s', async (_what, make, message) => {
    const { accountId } = await fixture.payer(10n, { onTrial: true })
    await expect(store.post(make(accountId))).rejects.toThrow(message)
    expect((await store.balance(accountId))?.balanceNano).toBe(10n)
  })

  test.each([
    ['topup', 'paid'],
    ['trial', 'trial'],
    ['promo', 'promo'],
    ['goodwill', 'goodwill'],
    ['adjustment', 'returned'],
  ] as const)('credit of kind %s is used in the turn of what is %s', async (kind, grant) => {
    const { accountId } = await fixture.payer(0n)
    await store.post({ ...posting(accountId, kind, 5n), reason: 'a test' })
    const grants =
      await sql`select g.kind, g.priority = ledger_priority(${grant}) as in_turn from ledger_grant g
      where g.account_id = ${accountId}`
    expect([...grants]).toEqual([{ kind: grant, in_turn: true }])
  })

  test('what running requests have set aside is not there to be given back', async () => {
    const payer = await fixture.payer(10n)
    await ledger.hold(holdOf(payer, 4n))
    const refund = (amountNano: bigint) => store.post(posting(payer.accountId, 'refund', amountNano))
    await expect(refund(-7n)).rejects.toThrow('has less than that to give back')
    expect((await refund(-6n)).balanceNano).toBe(4n)
  })

  test('refunds of a request are bounded by what it cost, all together', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 8n)
    await ledger.hold(request)
    await ledger.settle(costOf(request, 8n))
    const refund = (amountNano: bigint) =>
      store.post({ ...posting(payer.accountId, 'usage_refund', amountNano), ref: request.id })
    const results = await Promise.allSettled([refund(5n), refund(5n), refund(3n)])
    const refunded = results.filter(({ status }) => status === 'fulfilled').length
    expect(refunded).toBe(2)
    await expect(refund(1n)).rejects.toThrow('did not cost')
    expect((await store.balance(payer.accountId))?.balanceNano).toBe(10n)
  })

  test("a request's id in capitals is the same request", async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 8n)
    await ledger.hold(request)
    await ledger.settle(costOf(request, 8n))
    const refund = (ref: string) => store.post({ ...posting(payer.accountId, 'usage_refund', 8n), ref })
    await refund(request.id.toUpperCase())
    await expect(refund(request.id)).rejects.toThrow('did not cost')
    expect((await audit(url, { accountId: payer.accountId })).ok).toBe(true)
  })

  test('a refund that a payment provider has made is taken off whatever is left, once', async () => {
    const { accountId } = await fixture.payer(10n)
    const refund = () =>
      store.post({
        ...posting(accountId, 'refund', -15n),
        idempotency: { scope: 'stripe', key: `re_${accountId}` },
      })
    expect((await Promise.all([refund(), refund()])).map(({ posted }) => posted).sort()).toEqual([
      false,
      true,
    ])
    expect((await store.balance(accountId))?.balanceNano).toBe(-5n)
  })
})

describe('credit that expires', () => {
  async function giveEnding({ accountId }: Payer, amountNano: bigint): Promise<void> {
    const expiresAt = new Date(Date.now() + 3_600_000)
    await store.post({ ...posting(accountId, 'promo', amountNano), expiresAt })
  }

  /** Lets the end of all credit that has one pass. */
  async function endCredit({ accountId }: Payer): Promise<void> {
    await sql`update ledger_grant set expires_at = now() - interval '1 second'
      where account_id = ${accountId} and expires_at > now()`
    await ledger.maintain()
  }

  async function spend(payer: Payer, costNano: bigint): Promise<string> {
    const request = holdOf(payer, costNano)
    await ledger.hold(request)
    await ledger.settle(costOf(request, costNano))
    return request.id
  }

  test('is used first; what is left is taken, but not what a running exchange relies on', async () => {
    const payer = await fixture.payer(100n)
    await giveEnding(payer, 50n)
    await spend(payer, 20n)
    const running = holdOf(payer, 10n)
    await ledger.hold(running)
    await endCredit(payer)
    await ledger.maintain()
    expect(await store.balance(payer.accountId)).toMatchObject({ balanceNano: 110n, pendingNano: 10n })
    await ledger.settle(costOf(running, 4n))
    await ledger.maintain()
    expect((await store.balance(payer.accountId))?.balanceNano).toBe(100n)
    const [open] = await sql`select count(*)::int as count from ledger_grant
      where account_id = ${payer.accountId} and expires_at is not null and closed_at is null`
    expect(open?.['count']).toBe(0)
    expect((await audit(url, { accountId: payer.accountId })).ok).toBe(true)
  })

  test('is not used up by what was spent before it was given', async () => {
    const payer = await fixture.payer(100n)
    await spend(payer, 60n)
    await giveEnding(payer, 50n)
    await spend(payer, 10n)
    await endCredit(payer)
    expect((await store.balance(payer.accountId))?.balanceNano).toBe(40n)
  })

  test('comes back without an end when a request that it paid for is given back', async () => {
    const payer = await fixture.payer(100n)
    await giveEnding(payer, 50n)
    const ref = await spend(payer, 20n)
    await endCredit(payer)
    await store.post({ ...posting(payer.accountId, 'usage_refund', 20n), ref })
    await endCredit(payer)
    expect((await store.balance(payer.accountId))?.balanceNano).toBe(120n)
    expect((await audit(url, { accountId: payer.accountId })).ok).toBe(true)
  })

  test('of several pays a debt before the rest of it ends', async () => {
    const payer = await fixture.payer(10n)
    await store.post({ ...posting(payer.accountId, 'debit', -30n), reason: 'test' })
    await giveEnding(payer, 50n)
    await giveEnding(payer, 7n)
    await endCredit(payer)
    expect((await store.balance(payer.accountId))?.balanceNano).toBe(0n)
  })
})

describe('redeem codes', () => {
  test('are redeemed by as many accounts as they allow, each once, also all at once', async () => {
    const payers = await Promise.all([1, 2, 3, 4].map(() => fixture.payer(0n)))
    const [code = ''] = await fixture.codes({ amountNano: 7n, uses: 3 })
    const tries = payers.flatMap(({ accountId }) => [accountId, accountId])
    const results = await Promise.all(tries.map(id => fixture.redeem(code, id)))
    const redeemed = results.filter(({ result }) => result === 'redeemed')
    expect(redeemed.map(({ amountNano, balanceNano }) => [amountNano, balanceNano])).toEqual(
      Array(3).fill([7n, 7n]),
    )
    const balances = await Promise.all(payers.map(({ accountId }) => store.balance(accountId)))
    expect(balances.reduce((sum, balance) => sum + (balance?.balanceNano ?? 0n), 0n)).toBe(21n)
  })

  test('are read however they are typed, and are not stored', async () => {
    const { accountId } = await fixture.payer(0n)
    const [code = '', other = ''] = await fixture.codes({ amountNano: 7n, uses: 1 }, 2)
    expect(code).toMatch(/^[0-9A-Z]{6}-[0-9A-Z]{7}-[0-9A-Z]{6}-[0-9A-Z]{7}$/)
    const typed = ` ${code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')} `
    expect((await fixture.redeem(typed, accountId)).result).toBe('redeemed')
    expect((await fixture.redeem(code, accountId)).result).toBe('already_redeemed')
    expect((await fixture.redeem('none', accountId)).result).toBe('unknown')
    await sql`update redeem_code set expires_at = now() where uses = 0`
    expect((await fixture.redeem(other, accountId)).result).toBe('expired')
    const [row] = await sql<{ text: string }[]>`select string_agg(c::text, ' ') as text from redeem_code c`
    expect(row?.text.toUpperCase()).not.toContain(code.slice(0, 6))
  })

  test('that give more than the ledger has numbers for are refused, and stay unused', async () => {
    const { accountId } = await fixture.payer(1n)
    const amountNano = 2n ** 63n - 1n
    const [code = ''] = await fixture.codes({ amountNano, uses: 1 })
    await expect(fixture.redeem(code, accountId)).rejects.toThrow('than the ledger has numbers for')
    const [row] = await sql`select uses from redeem_code where amount = ${amountNano}`
    expect(row?.['uses']).toBe(0)
  })

  test.each([
    ['their own end', '-1 minute', '1 hour'],
    ['the end of their credit', '1 hour', '-1 minute'],
  ])(
    'that are past %s give nothing, whenever the other is, and tell what the account has',
    async (_, own, credit) => {
      const payer = await fixture.payer(100n)
      const request = holdOf(payer, 30n)
      await ledger.hold(request)
      await ledger.settle(costOf(request, 30n))
      const [code = ''] = await fixture.codes({ amountNano: 7n, uses: 1 })
      await sql`update redeem_code set expires_at = now() + ${own}::text::interval,
      credit_expires_at = now() + ${credit}::text::interval where code_hash = ${hashCode(code)}`
      const told = { result: 'expired', amountNano: 0n, balanceNano: 70n } as const
      expect(await fixture.redeem(code, payer.accountId)).toEqual(told)
    },
  )

  test('give credit that ends when they say', async () => {
    const { accountId } = await fixture.payer(0n)
    const creditExpiresAt = new Date(Date.now() + 86_400_000)
    const [code = ''] = await fixture.codes({ amountNano: 7n, uses: 1, creditExpiresAt })
    await fixture.redeem(code, accountId)
    const grants = await sql<{ ends: Date }[]>`select expires_at as ends from ledger_grant
      where account_id = ${accountId}`
    expect(grants.map(({ ends }) => new Date(ends))).toEqual([creditExpiresAt])
  })

  test('that are used up say so', async () => {
    const [one, other] = [await fixture.payer(0n), await fixture.payer(0n)]
    const [code = ''] = await fixture.codes({ amountNano: 7n, uses: 1 })
    await fixture.redeem(code, one.accountId)
    expect(await fixture.redeem(code, other.accountId)).toEqual({
      result: 'used_up',
      amountNano: 0n,
      balanceNano: 0n,
    })
  })

  test('that were taken back give nothing more, and what they gave stays', async () => {
    const [one, other] = [await fixture.payer(0n), await fixture.payer(0n)]
    const [code = ''] = await fixture.codes({ amountNano: 7n, uses: 2 })
    await fixture.redeem(code, one.accountId)
    expect(await revokeCode(sql, hashCode(code))).toBe(true)
    const told = { result: 'revoked', amountNano: 0n, balanceNano: 0n } as const
    expect(await fixture.redeem(code, other.accountId)).toEqual(told)
    expect(await fixture.redeem(code, one.accountId)).toMatchObject({
      result: 'already_redeemed',
      balanceNano: 7n,
    })
    expect(await revokeCode(sql, hashCode(code))).toBe(false)
    expect(await revokeCode(sql, hashCode('none'))).toBe(false)
  })

  test.each(['redeemed', 'taken back'])(
    'that are %s at this moment are not both: whoever comes second waits, and is told',
    async first => {
      const { accountId } = await fixture.payer(0n)
      const [code = ''] = await fixture.codes({ amountNano: 7n, uses: 1 })
      const hash = hashCode(code)
      const running = await sql.reserve()
      await running`begin`
      let waiting: Promise<unknown>
      if (first === 'redeemed') {
        await running`select from ledger_redeem(${newId()}, ${hash}, ${accountId})`
        waiting = revokeCode(sql, hash)
      } else {
        await running`select ledger_revoke_code(${hash})`
        waiting = fixture.redeem(code, accountId)
      }
      await until(async () => {
        const [row] = await sql<{ waiting: bigint }[]>`
          select count(*) as waiting from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%ledger_re%'`
        return row?.waiting === 1n
      })
      await running`commit`
      running.release()
      const told = { result: 'revoked', amountNano: 0n, balanceNano: 0n }
      expect(await waiting).toEqual(first === 'redeemed' ? false : told)
      expect((await store.balance(accountId))?.balanceNano).toBe(first === 'redeemed' ? 7n : 0n)
    },
  )
})

test('partitions are made ahead of time, by however many processes at once', async () => {
  const months = () => sql`select ledger_make_partitions('2031-05-20T00:00:00Z', 2) as made`
  const made = (await Promise.all([months(), months(), months()])).map(([row]) => row?.['made'])
  expect(made.toSorted()).toEqual([0, 0, 4])
  const id = Bun.randomUUIDv7('hex', Date.parse('2031-06-01T00:00:00.000Z'))
  const [row] = await sql`select ledger_first_id('2031-06-01T00:00:00Z') <= ${id}::uuid as inside`
  expect(row?.['inside']).toBe(true)
})

test('the first entry after nothing ran for months has its month', async () => {
  const late = await ledgerFixture()
  try {
    await forgetMonth(late.database)
    await late.open()
    await late.payer(1n)
    await late.store.makePartitions()
    expect((await audit(late.database.url)).ok).toBe(true)
  } finally {
    await late.close()
  }
})

test('what a gateway with a wrong clock wrote gets its months, and stays what it is', async () => {
  const stray = await ledgerFixture()
  try {
    const { database } = stray
    const ledger = await stray.open()
    const payer = await stray.payer(100n)
    const idAt = (time: string) => Bun.randomUUIDv7('hex', Date.parse(time))
    const exchange = { ...holdOf(payer, 10n), id: idAt('2090-07-15') }
    await ledger.hold(exchange)
    await ledger.settle(costOf(exchange, 7n))
    const expiresAt = new Date(Date.now() + 3_600_000)
    for (const id of [idAt('1970-01-01'), idAt('2090-07-15')]) {
      await stray.store.post({ id, accountId: payer.accountId, kind: 'promo', amountNano: 20n, expiresAt })
    }
    const books = () =>
      Promise.all([
        database.sql`select * from entry order by seq`,
        stray.store.expiringCredit(payer.accountId),
      ])
    const before = await books()
    expect(await database.sql`select from entry_default`).toHaveLength(3)
    expect(await stray.store.makePartitions()).toBe(2)
    expect(await books()).toEqual(before)
    expect((await audit(database.url)).checks.filter(({ count }) => count > 0)).toEqual([])
    expect(await database.sql`select from entry_2090_07`).toHaveLength(2)
    await expect(database.sql`delete from entry_2090_07`.execute()).rejects.toThrow('append-only')
    expect(await stray.store.makePartitions()).toBe(0)
  } finally {
    await stray.close()
  }
})

test('the days that are over are added up once, an hour later', async () => {
  const roll = (at: string) => sql`select ledger_roll_up(${at}::text::timestamptz) as rows`
  await fixture.payer(5n)
  const midnight = (Math.floor(Date.now() / 86_400_000) + 1) * 86_400_000
  const afterMidnight = (ms: number) => new Date(midnight + ms).toISOString()
  await roll(afterMidnight(3_599_999))
  expect((await roll(afterMidnight(3_600_000)))[0]?.['rows']).toBeGreaterThan(0)
  expect((await roll(afterMidnight(3_600_000)))[0]?.['rows']).toBe(0)
  const [row] =
    await sql`select (select sum(amount) from daily_total) = (select sum(amount) from entry) as same`
  expect(row?.['same']).toBe(true)
})

describe('a day that was added up before all of it was there is added up anew', () => {
  const roll = (days: number) => sql`select ledger_roll_up(now() + ${`${days} days`}::text::interval)`
  const daysAreRight = async () => {
    const { checks } = await audit(url)
    expect(checks.find(({ name }) => name === 'daily_totals')).toMatchObject({ count: 0 })
  }

  test('since the clock was ahead, and was set back', async () => {
    await fixture.payer(5n)
    await roll(2)
    await fixture.payer(7n)
    await roll(0)
    await daysAreRight()
    await roll(2)
    await daysAreRight()
    const [row] =
      await sql`select (select sum(amount) from daily_total) = (select sum(amount) from entry) as same`
    expect(row?.['same']).toBe(true)
  })

  test('since the clock was behind, as docs/billing.md says', async () => {
    const payer = await fixture.payer(5n)
    await roll(0)
    await roll(2)
    await sql`alter table entry alter column created_at set default now() - interval '3 days'`
    await fixture.store.post({ id: newId(), ...payer, kind: 'goodwill', amountNano: 7n, reason: 'test' })
    await sql`alter table entry alter column created_at set default now()`
    await roll(2)
    const { checks } = await audit(url)
    expect(checks.find(({ name }) => name === 'daily_totals')).toMatchObject({ count: 1, differenceNano: 7n })
    await sql`delete from daily_total`
    await roll(2)
    await daysAreRight()
  })

  test('since a transaction that began in it commits when it is over: it is waited for', async () => {
    const payer = await fixture.payer(5n)
    await roll(0)
    await sql.begin(async tx => {
      await tx`select now()`
      await roll(2)
      await postEntry(tx, { id: newId(), accountId: payer.accountId, kind: 'topup', amountNano: 3n })
    })
    await daysAreRight()
    await roll(2)
    await daysAreRight()
  })
})
