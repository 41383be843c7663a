import { afterAll, describe, expect, test } from 'bun:test'
import type { Stop } from '@/ledger/types.ts'
import { costOf, holdOf, ledgerFixture, moreOf, newId, taken, verdict } from './fixture.ts'

const fixture = await ledgerFixture()
const { sql } = fixture.database
const { store } = fixture
const ledger = await fixture.open()
afterAll(() => fixture.close())

/** As if the process had stopped sending heartbeats long ago. */
async function kill(payer: { accountId: number }, silentSeconds = 86_400): Promise<void> {
  await sql`update process set seen = now() - make_interval(secs => ${silentSeconds})
    where id in (select owner from hold where account_id = ${payer.accountId})`
}

async function entriesOf({ accountId }: { accountId: number }): Promise<unknown[]> {
  const rows = await sql`select kind, amount, balance_after, ref from entry
    where account_id = ${accountId} and kind <> 'topup' order by seq`
  return [...rows]
}

describe('settle', () => {
  test('charges the exact cost rounded up, and frees what was held', async () => {
    const payer = await fixture.payer(100n)
    const request = holdOf(payer, 10n)
    await ledger.hold(request)
    const settlement = { ...costOf(request, 3n), costPico: 2_001n }
    expect(await ledger.settle(settlement)).toEqual({
      outcome: 'settled',
      chargedNano: 3n,
      overrunNano: 0n,
      availableNano: 97n,
    })
    const [row] = await sql`select cost_pico, amount from entry where id = ${request.id}`
    expect(row).toEqual({ cost_pico: '2001', amount: -3n })
  })

  test('charges the truth when it is more than was held, below zero if it must', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 10n)
    await ledger.hold(request)
    expect(await ledger.settle(costOf(request, 15n))).toMatchObject({ overrunNano: 5n, availableNano: -5n })
    expect(verdict(await ledger.hold(holdOf(payer, 1n)))).toBe('credit_exhausted')
  })

  test('tells what is left beside what still runs, of several at once', async () => {
    const payer = await fixture.payer(100n)
    const requests = [holdOf(payer, 10n), holdOf(payer, 10n)]
    for (const request of [...requests, holdOf(payer, 30n)]) await ledger.hold(request)
    const results = taken(await store.settle(requests.map(request => costOf(request, 3n))))
    expect(results.map(({ availableNano }) => availableNano)).toEqual([64n, 64n])
  })

  test('refuses a cost that is not its exact cost rounded up', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 10n)
    await expect(ledger.settle({ ...costOf(request, 2n), costPico: 2_001n })).rejects.toThrow('rounded up')
  })

  test.each([
    ['alone', 1],
    ['among others', 2],
  ])('neither charges nor frees what another account holds, %s', async (_, count) => {
    const [payer, other] = [await fixture.payer(10n), await fixture.payer(10n)]
    const requests = Array.from({ length: count }, () => holdOf(payer, 4n))
    for (const request of requests) await ledger.hold(request)
    const results = await store.settle(
      requests.map(request => costOf({ ...request, accountId: other.accountId }, 3n)),
    )
    expect(results).toMatchObject(requests.map(() => ({ outcome: 'duplicate', chargedNano: 0n })))
    const pendingNano = BigInt(4 * count)
    expect(await store.balance(payer.accountId)).toMatchObject({ balanceNano: 10n, pendingNano })
    expect(await store.balance(other.accountId)).toMatchObject({ balanceNano: 10n, pendingNano: 0n })
  })

  test('release frees what was held, and leaves no entry', async () => {
    const payer = await fixture.payer(10n)
    const request = holdOf(payer, 10n)
    const wallet = () => sql`select seq, last_entry_id from wallet where account_id = ${payer.accountId}`
    const before = [...(await wallet())]
    await ledger.hold(request)
    expect(await ledger.release(request)).toMatchObject({
      outcome: 'settled',
      chargedNano: 0n,
      availableNano: 10n,
    })
    expect(await entriesOf(payer)).toHaveLength(0)
    expect([...(await wallet())]).toEqual(before)
  })
})

test('a storm of duplicates from four processes, reordered, is the same as each once', async () => {
  const ledgers = [ledger, ...(await Promise.all([1, 2, 3].map(() => fixture.open())))]
  const payers = await Promise.all([1, 2, 3].map(() => fixture.payer(10_000n)))
  const storm = async (acts: (() => (by: typeof ledger) => Promise<unknown>)[]) => {
    const all = acts.flatMap(act => [act(), act(), act()])
    const shuffled = all
      .map((act, index) => ({ act, at: (index * 7_919) % all.length }))
      .sort((a, b) => a.at - b.at)
    await Promise.all(shuffled.map(({ act }, index) => act(ledgers[index % 4] ?? ledger)))
  }
  const exchanges = Array.from({ length: 120 }, (_, index) => {
    const payer = payers[index % 3] ?? { accountId: 0, keyId: 0 }
    return { payer, request: holdOf(payer, 20n), cost: BigInt(index % 40) }
  })
  const topUps = payers.map(({ accountId }, index) => ({ id: newId(), accountId, key: `event ${index}` }))

  await storm(
    exchanges.map(
      ({ request }) =>
        () =>
        by =>
          by.hold(request),
    ),
  )
  await storm(
    exchanges.map(
      ({ request }) =>
        () =>
        by =>
          by.extend(moreOf(request, 30n)),
    ),
  )
  await storm([
    ...exchanges.map(
      ({ request, cost }) =>
        () =>
        (by: typeof ledger) =>
          by.settle(costOf(request, cost)),
    ),
    ...topUps.map(({ accountId, key }) => () => () => {
      const idempotency = { scope: 'storm', key }
      return store.post({ id: newId(), accountId, kind: 'topup', amountNano: 1_000n, idempotency })
    }),
  ])

  for (const payer of payers) {
    const cost = exchanges.reduce((sum, { payer: of, cost: one }) => (of === payer ? sum + one : sum), 0n)
    const balanceNano = 11_000n - cost
    expect(await store.balance(payer.accountId)).toEqual({
      balanceNano,
      pendingNano: 0n,
      availableNano: balanceNano,
    })
  }
})

describe('a process that died', () => {
  test('has its exchanges settled by any other, at their last checkpoint, and freed if they had none', async () => {
    const payer = await fixture.payer(100n)
    const dead = await fixture.open()
    const [running, started] = [holdOf(payer, 10n), holdOf(payer, 20n)]
    await dead.hold(running)
    await dead.hold(started)
    dead.progress(running.id, 4n)
    await dead.beat()
    dead.progress(running.id, 9n)
    await kill(payer)
    await fixture.reap()
    expect(await store.balance(payer.accountId)).toEqual({
      balanceNano: 96n,
      pendingNano: 0n,
      availableNano: 96n,
    })
    expect(await entriesOf(payer)).toEqual([
      { kind: 'usage', amount: -4n, balance_after: 96n, ref: 'expired' },
    ])
  })

  test('is not one that was heard of within ten seconds: its exchanges are left to it', async () => {
    const payer = await fixture.payer(100n)
    const quiet = await fixture.open()
    await quiet.hold(holdOf(payer, 10n))
    await kill(payer, 5)
    await fixture.reap()
    expect(await store.balance(payer.accountId)).toMatchObject({ balanceNano: 100n, pendingNano: 10n })
  })

  test('or left without settling them, too', async () => {
    const payer = await fixture.payer(100n)
    const left = await fixture.open()
    await left.hold(holdOf(payer, 10n))
    await left.close()
    await fixture.reap()
    expect(await store.balance(payer.accountId)).toMatchObject({ balanceNano: 100n, pendingNano: 0n })
  })

  test('is charged no less for a checkpoint that comes late', async () => {
    const payer = await fixture.payer(100n)
    const request = holdOf(payer, 10n)
    await ledger.hold(request)
    for (const costNano of [7n, 4n]) await store.progress(newId(), new Map([[request.id, costNano]]))
    await sql`update hold set deadline = '-infinity' where id = ${request.id}`
    await fixture.reap()
    expect(await store.balance(payer.accountId)).toMatchObject({ balanceNano: 93n, pendingNano: 0n })
  })

  test('and comes back pays the difference once, either way', async () => {
    const payer = await fixture.payer(100n)
    const zombie = await fixture.open()
    const [more, less, none] = [holdOf(payer, 10n), holdOf(payer, 10n), holdOf(payer, 10n)]
    for (const request of [more, less, none]) await zombie.hold(request)
    zombie.progress(more.id, 4n)
    zombie.progress(less.id, 6n)
    await zombie.beat()
    await kill(payer)
    await fixture.reap()

    expect(await zombie.settle(costOf(more, 9n))).toMatchObject({ outcome: 'trued_up', chargedNano: 5n })
    expect(await zombie.settle(costOf(less, 1n))).toMatchObject({ outcome: 'trued_up', chargedNano: -5n })
    expect(await zombie.settle(costOf(none, 7n))).toMatchObject({ outcome: 'trued_up', chargedNano: 7n })
    for (const request of [more, less, none]) {
      expect(await zombie.settle(costOf(request, 8n))).toMatchObject({
        outcome: 'duplicate',
        chargedNano: 0n,
      })
    }
    expect((await store.balance(payer.accountId))?.balanceNano).toBe(100n - 9n - 1n - 7n)
    const grants = await sql`select kind, amount from ledger_grant where entry_id = ${less.id}`
    expect([...grants]).toEqual([{ kind: 'returned', amount: 5n }])
  })

  test('has nothing of it corrected in the name of another account', async () => {
    const [payer, other] = [await fixture.payer(100n), await fixture.payer(100n)]
    const dead = await fixture.open()
    const request = holdOf(payer, 10n)
    await dead.hold(request)
    dead.progress(request.id, 4n)
    await dead.beat()
    await kill(payer)
    await fixture.reap()
    const late = costOf({ ...request, accountId: other.accountId }, 1n)
    expect(await dead.settle(late)).toMatchObject({ outcome: 'duplicate', chargedNano: 0n })
    expect(await store.balance(other.accountId)).toMatchObject({ balanceNano: 100n })
  })

  test('is told of exchanges that it must end', async () => {
    const payer = await fixture.payer(100n)
    const stops: Stop[] = []
    const zombie = await fixture.open({ onStop: stop => stops.push(stop) })
    const request = holdOf(payer, 10n)
    await zombie.hold(request)
    await kill(payer)
    await fixture.reap()
    zombie.progress(request.id, 1n)
    await zombie.beat()
    await zombie.beat()
    expect(stops).toEqual([{ id: request.id, reason: 'hold_expired' }])
  })

  test.each([199, 200, 450])(
    'has all of its exchanges settled in one run, also when they are %i',
    async count => {
      const payer = await fixture.payer(10_000n)
      const dead = await fixture.open()
      const requests = Array.from({ length: count }, () => holdOf(payer, 10n))
      await Promise.all(requests.map(request => dead.hold(request)))
      for (const { id } of requests) dead.progress(id, 3n)
      await dead.beat()
      await kill(payer)
      const reaped = await fixture.reap()
      expect(reaped.map(({ id }) => id).toSorted()).toEqual(requests.map(({ id }) => id))
      const left = 10_000n - 3n * BigInt(count)
      expect(await store.balance(payer.accountId)).toMatchObject({ balanceNano: left, pendingNano: 0n })
    },
  )

  test('is not buried by several others at once more than once', async () => {
    const payer = await fixture.payer(1_000n)
    const dead = await fixture.open()
    const requests = Array.from({ length: 50 }, () => holdOf(payer, 10n))
    await Promise.all(requests.map(request => dead.hold(request)))
    for (const { id } of requests) dead.progress(id, 3n)
    await dead.beat()
    await kill(payer)
    await Promise.all([1, 2, 3, 4].map(() => fixture.reap()))
    expect(await store.balance(payer.accountId)).toMatchObject({ balanceNano: 850n, pendingNano: 0n })
  })
})

test('a hold past its deadline is settled although its process lives', async () => {
  const payer = await fixture.payer(100n)
  const request = { ...holdOf(payer, 10n), lifetimeMs: 0 }
  await ledger.hold(request)
  await fixture.reap()
  expect(await store.balance(payer.accountId)).toMatchObject({ balanceNano: 100n, pendingNano: 0n })
})

test('running exchanges of a revoked key and of a suspended account are told to end at the next checkpoint', async () => {
  const stops: Stop[] = []
  const gateway = await fixture.open({ onStop: stop => stops.push(stop) })
  const [revoked, suspended, fine] = [
    await fixture.payer(10n),
    await fixture.payer(10n),
    await fixture.payer(10n),
  ]
  const requests = [holdOf(revoked, 1n), holdOf(suspended, 1n), holdOf(fine, 1n)]
  for (const request of requests) await gateway.hold(request)
  await fixture.keys.revokeKey(revoked.keyId)
  await fixture.accounts.suspendAccount(suspended.accountId)
  await gateway.beat()
  await gateway.beat()
  expect(new Map(stops.map(({ id, reason }) => [id, reason]))).toEqual(
    new Map([
      [requests[0]?.id ?? '', 'key_revoked'],
      [requests[1]?.id ?? '', 'account_suspended'],
    ]),
  )
  expect(stops).toHaveLength(2)
})
