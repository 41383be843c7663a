import { afterAll, expect, test } from 'bun:test'
import { randomOf } from '#tests/support/random.ts'
import { connect } from '@/db/connect.ts'
import { sqlErrorOf } from '@/db/sql-error.ts'
import { Refusal } from '@/errors/refusal.ts'
import { audit } from '@/ledger/audit.ts'
import { createCodes, ledgerStore, OWNER_GONE } from '@/ledger/store.ts'
import { costOf, holdOf, ledgerFixture, newId, type Payer, random, taken } from './fixture.ts'

/**
 * Everything that moves money, at once and at random, each on a connection of its own. Nobody knows in which order it
 * took effect, so what is compared is what was answered: each account has what the answers say.
 */
const fixture = await ledgerFixture()
const WORKERS = 12
const database = connect(fixture.database.url, { max: WORKERS + 2 })
const { sql } = database
const store = ledgerStore(database)
afterAll(async () => {
  await database.close()
  await fixture.close()
})

const STEPS = 400
const CREDIT = 3_000n
const CAP = 2_000n
const CODE = 40n
const DAY_MS = 86_400_000

interface Exchange {
  id: string
  payer: Payer
  /** What was first set aside. */
  amount: bigint
  /** What it was said to cost, in the end or on the way. */
  told: Set<bigint>
  charged: bigint
  refunded: bigint
}

/** An account on which nothing costs more than was set aside, and nobody but exchanges and its holder takes anything. */
const careful = await fixture.payer(CREDIT)
const capped = {
  ...careful,
  keyId: await fixture.key(careful.accountId, { period: 'total', amountNano: CAP }),
}
/** Costs beyond holds, chargebacks, suspensions. */
const wild = await fixture.payer(CREDIT)
/** Is closed and reopened, with a new key each time. */
const passing = await fixture.payer(CREDIT)
const payers = [careful, capped, wild, passing]
const accountIds = [careful.accountId, wild.accountId, passing.accountId]

test.each([1, 2, 3])(
  'whatever moves money at once, each account has what the answers said (seed %p)',
  async seed => {
    const draw = randomOf(seed)
    const amount = (most = 60) => BigInt(1 + draw(most))
    const pick = <Item>(items: readonly Item[]): Item | undefined => items[draw(items.length)]
    const owners = [newId(), newId(), newId()]
    for (const owner of owners) await store.register(owner, 'test')
    const codes = [random(32), random(32), random(32)]
    await createCodes(sql, codes, { amountNano: CODE, uses: 2 })
    const before = await balances()
    const began = new Date().toISOString()
    const moved = new Map(accountIds.map(id => [id, 0n]))
    const exchanges: Exchange[] = []
    const done = new Map<string, number>()

    const move = (accountId: number, nano: bigint) =>
      moved.set(accountId, (moved.get(accountId) ?? 0n) + nano)
    const charge = (id: string, accountId: number, nano: bigint) => {
      move(accountId, -nano)
      const exchange = exchanges.find(one => one.id === id)
      if (exchange !== undefined) exchange.charged += nano
    }
    /** The cost of an exchange, within its hold unless its account is the wild one. */
    const costFor = ({ payer, amount: held }: Exchange) =>
      BigInt(draw(payer === wild ? 90 : Number(held) + 1))

    async function hold(): Promise<void> {
      const asked = Array.from({ length: 1 + draw(4) }, () => holdOf(pick(payers) ?? careful, amount()))
      const answers = await store.hold(pick(owners) ?? '', asked)
      for (const [index, { id, amountNano, accountId, keyId }] of asked.entries()) {
        const answer = answers[index]
        if (answer === undefined || answer instanceof Error || !answer.granted) continue
        const payer = payers.find(one => one.accountId === accountId && one.keyId === keyId) ?? careful
        exchanges.push({ id, payer, amount: amountNano, told: new Set(), charged: 0n, refunded: 0n })
      }
    }

    async function extend(): Promise<void> {
      const exchange = pick(exchanges)
      if (exchange === undefined) return
      const { id, payer, amount: held } = exchange
      const { accountId, keyId } = payer
      await store.hold(pick(owners) ?? '', [{ id, accountId, keyId, amountNano: held + amount() }])
    }

    async function settle(): Promise<void> {
      const some = [...new Set([pick(exchanges), pick(exchanges), pick(exchanges)])]
      const costs = some.flatMap(exchange => {
        if (exchange === undefined) return []
        const cost = draw(5) === 0 ? 0n : costFor(exchange)
        exchange.told.add(cost)
        return [costOf({ ...exchange.payer, id: exchange.id }, cost)]
      })
      if (costs.length === 0) return
      const answers = taken(await store.settle(costs))
      for (const [index, { chargedNano }] of answers.entries()) {
        const { id = '', accountId = 0 } = costs[index] ?? {}
        charge(id, accountId, chargedNano)
      }
    }

    async function progress(): Promise<void> {
      const exchange = pick(exchanges)
      if (exchange === undefined) return
      const cost = costFor(exchange)
      exchange.told.add(cost)
      await store.progress(pick(owners) ?? '', new Map([[exchange.id, cost]]))
    }

    async function die(): Promise<void> {
      const place = draw(owners.length)
      const dead = owners[place]
      const reborn = newId()
      await store.register(reborn, 'test')
      owners[place] = reborn
      await sql`update process set seen = now() - interval '1 day' where id = ${dead ?? ''}`
      await reap()
    }

    async function reap(): Promise<void> {
      for (const { id, accountId, chargedNano } of await store.reap(3_600_000, 20))
        charge(id, accountId, chargedNano)
    }

    /** One payment is told by many. */
    async function topUp(): Promise<void> {
      const payment = draw(STEPS)
      const accountId = accountIds[payment % accountIds.length] ?? 0
      const amountNano = BigInt(1 + (payment % 37))
      const expiresAt = payment % 3 === 0 ? { expiresAt: new Date(Date.now() + DAY_MS) } : {}
      const idempotency = { scope: 'test', key: `${seed}-${payment}` }
      const { posted } = await store.post({
        id: newId(),
        accountId,
        kind: 'topup',
        amountNano,
        idempotency,
        ...expiresAt,
      })
      if (posted) move(accountId, amountNano)
    }

    async function take(): Promise<void> {
      const kind = (['refund', 'chargeback', 'debit'] as const)[draw(3)] ?? 'refund'
      const accountId = kind === 'refund' ? (pick(accountIds) ?? 0) : wild.accountId
      const amountNano = -amount(20)
      await store.post({ id: newId(), accountId, kind, amountNano, reason: 'test' })
      move(accountId, amountNano)
    }

    async function giveBack(): Promise<void> {
      const exchange = pick(exchanges)
      if (exchange === undefined) return
      const { accountId } = exchange.payer
      const amountNano = amount(20)
      await store.post({ id: newId(), accountId, kind: 'usage_refund', amountNano, ref: exchange.id })
      exchange.refunded += amountNano
      move(accountId, amountNano)
    }

    async function redeem(): Promise<void> {
      const accountId = pick(accountIds) ?? 0
      const { result, amountNano } = await store.redeem(newId(), pick(codes) ?? random(32), accountId)
      if (result === 'redeemed') move(accountId, amountNano)
    }

    async function expire(): Promise<void> {
      const accountId = pick(accountIds) ?? 0
      await sql`update ledger_grant set expires_at = now() - interval '1 second'
        where account_id = ${accountId} and expires_at > now()`
      await store.expireCredit(accountId)
    }

    async function suspend(): Promise<void> {
      const status = draw(2) === 0 ? 'suspended' : 'active'
      await sql`update account set status = ${status} where id = ${wild.accountId}`
    }

    async function closeOrReopen(): Promise<void> {
      if (draw(2) === 0) await fixture.accounts.closeAccount(passing.accountId)
      else {
        await fixture.accounts.reopenAccount(passing.accountId)
        passing.keyId = await fixture.key(passing.accountId)
      }
    }

    const acts = [hold, hold, hold, extend, extend, settle, settle, settle, progress, progress, topUp, topUp]
    const rare = [die, reap, take, giveBack, redeem, expire, suspend, closeOrReopen]
    async function work(): Promise<void> {
      for (let step = 0; step < STEPS / WORKERS; step += 1) {
        const act = pick(draw(3) === 0 ? rare : acts) ?? hold
        await act().catch(error => {
          if (!(error instanceof Refusal) && sqlErrorOf(error)?.code !== OWNER_GONE) throw error
        })
        done.set(act.name, (done.get(act.name) ?? 0) + 1)
      }
    }

    const audits: Promise<unknown>[] = []
    await Promise.all([
      ...Array.from({ length: WORKERS }, work),
      (async () => {
        for (let look = 0; look < 3; look += 1) audits.push(expectGreen())
      })(),
    ])
    await Promise.all(audits)
    for (const { id, payer } of exchanges) {
      const [answer] = taken(await store.settle([costOf({ ...payer, id }, 0n)]))
      charge(id, payer.accountId, answer?.chargedNano ?? 0n)
    }

    const expiries = await sql<{ account_id: bigint; amount: bigint }[]>`
      select account_id, sum(amount)::bigint as amount from entry where kind = 'expiry' and created_at >= ${began}::text::timestamptz group by 1`
    for (const { account_id, amount: taken } of expiries) move(Number(account_id), taken)
    const due = before.map(({ accountId, balance }) => ({
      accountId,
      balance: balance + (moved.get(accountId) ?? 0n),
      pending: 0n,
    }))
    expect(await balances()).toEqual(due)
    await expectGreen()

    // What an exchange paid is one of the costs that were told of it, and nobody paid for one that was never told.
    for (const { told, charged, refunded } of exchanges) {
      if (refunded === 0n && charged !== 0n) expect(told).toContain(charged)
    }
    // Below zero is only what came after its hold was gone.
    const lowest = await sql<{ covered: boolean }[]>`
      select min(balance_after) >= coalesce(sum(amount) filter (where kind = 'usage_trueup' and amount < 0), 0) as covered
      from entry where account_id in (${careful.accountId}, ${passing.accountId}) group by account_id`
    expect(lowest.map(({ covered }) => covered)).toEqual([true, true])
    const [budget] = await sql<{ pending: bigint; covered: boolean }[]>`
      select b.pending, b.spent <= ${CAP} - coalesce((select sum(e.amount) from entry e
        where e.budget_key_id = b.key_id and e.kind = 'usage_trueup' and e.amount < 0), 0) as covered
      from key_budget b where b.key_id = ${capped.keyId}`
    expect(budget).toEqual({ pending: 0n, covered: true })
    expect([...done.keys()].toSorted()).toEqual(
      [...new Set([...acts, ...rare].map(({ name }) => name))].toSorted(),
    )
  },
  120_000,
)

async function balances() {
  const rows = await sql<{ account_id: bigint; balance: bigint; pending: bigint }[]>`
    select account_id, credits - debits as balance, pending from wallet where account_id = any (${accountIds}::bigint[])
    order by account_id`
  return rows.map(({ account_id, balance, pending }) => ({ accountId: Number(account_id), balance, pending }))
}

async function expectGreen(): Promise<void> {
  const { checks } = await audit(fixture.database.url)
  expect(checks.filter(({ count, informational }) => count > 0 && !informational)).toEqual([])
}
