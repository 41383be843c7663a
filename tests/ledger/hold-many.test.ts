import { afterAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Database } from '@/db/connect.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { costOf, holdOf, ledgerFixture, newId, type Payer, taken } from './fixture.ts'

const fixture = await ledgerFixture()
afterAll(() => fixture.close())

/** One item of a batch, as the functions take it: parallel arrays in the text of Postgres. */
interface Asked {
  payer: Payer
  id: string
  amount: bigint
  lifetimeMs: number | null
}

const { sql } = fixture.database
const store = ledgerStore({ sql })
const owner = newId()
const world = await makeWorld()

/** A database that answers so; a store asks nothing else of it for a batch. */
function answering(answers: readonly unknown[]): Database['sql'] {
  return { unsafe: async () => [{ answers: JSON.stringify(answers) }] } as unknown as Database['sql']
}

test('what is charged is told to who paid it, in whichever order the database answers', async () => {
  const [one, other] = [1n, 2n].map(cost => costOf({ id: newId(), accountId: 1, keyId: 1 }, cost))
  if (one === undefined || other === undefined) throw new Error('two')
  const sql = answering([
    [other.id, 'settled', '2', '0', '9'],
    [one.id, 'settled', '1', '0', '9'],
  ])
  const told = taken(await ledgerStore({ sql }).settle([one, other]))
  expect(told.map(({ chargedNano }) => chargedNano)).toEqual([1n, 2n])
})

test('a batch is answered and held as ledger_hold_batch would, whoever is in it', async () => {
  const kind = fc.oneof(
    { weight: 12, arbitrary: fc.constant('new' as const) },
    { weight: 1, arbitrary: fc.constantFrom('open', 'charged', 'extend') },
  )
  const asked = (payers: Payer[]) =>
    fc.record({ payer: fc.constantFrom(...payers), amount: fc.bigInt({ min: 1n, max: 60n }), kind })
  const batches = fc.oneof(
    fc.array(asked(world.payers), { minLength: 1, maxLength: 8 }),
    fc.array(asked(world.plain), { minLength: 1, maxLength: 8 }),
  )
  await fc.assert(
    fc.asyncProperty(batches, fc.constantFrom(owner, owner, owner, newId()), async (items, holder) => {
      const batch = toBatch(items)
      const expected = await outcomeOf('ledger_hold_batch', holder, batch)
      expect(await outcomeOf('ledger_hold_many', holder, batch)).toEqual(expected)
    }),
    { numRuns: 250 },
  )
}, 60_000)

/** Accounts and keys of every standing, one of which has spent and set aside most of what it had, one with an overdraft; an open hold and a charged exchange. */
async function makeWorld() {
  const [rich, poor, other, suspended, capped] = await Promise.all([
    fixture.payer(1_000n),
    fixture.payer(200n),
    fixture.payer(50n),
    fixture.payer(1_000n),
    fixture.payer(1_000n, { cap: { amountNano: 90n, period: 'day' } }),
  ])
  const [second, revoked, expired] = await Promise.all([1, 2, 3].map(() => fixture.key(rich.accountId)))
  if (second === undefined || revoked === undefined || expired === undefined) throw new Error('three keys')
  await fixture.keys.revokeKey(revoked)
  await sql`update api_key set expires_at = now() - interval '1 minute' where id = ${expired}`
  await store.register(owner, 'test')
  const open = holdOf(rich, 20n)
  const charged = holdOf(rich, 20n)
  const spent = holdOf(poor, 100n)
  await store.hold(owner, [open, charged, holdOf(poor, 30n), spent])
  await store.settle([costOf(charged, 5n), costOf(spent, 100n)])
  await sql`update wallet set overdraft = 50 where account_id = ${other.accountId}`
  await fixture.accounts.suspendAccount(suspended.accountId)
  const plain = [rich, poor, other, { ...rich, keyId: second }]
  return {
    open: open.id,
    charged: charged.id,
    plain,
    payers: [
      ...plain,
      suspended,
      capped,
      { ...rich, keyId: revoked },
      { ...rich, keyId: expired },
      { ...rich, keyId: other.keyId },
      { accountId: 999_999, keyId: rich.keyId },
    ],
  }
}

/** No id is in a batch twice: whoever comes second has one of its own. */
function toBatch(
  items: readonly { payer: Payer; amount: bigint; kind: 'new' | 'open' | 'charged' | 'extend' }[],
): Asked[] {
  const taken = new Set<string>()
  return items.map(({ payer, amount, kind }) => {
    const known = kind === 'new' ? undefined : kind === 'charged' ? world.charged : world.open
    const id = known === undefined || taken.has(known) ? newId() : known
    taken.add(id)
    return { payer, amount, id, lifetimeMs: kind === 'extend' ? null : 600_000 }
  })
}

/** What the function answers and what it leaves behind, or the code of its error; then all is as it was. */
async function outcomeOf(
  name: 'ledger_hold_batch' | 'ledger_hold_many',
  holder: string,
  batch: readonly Asked[],
) {
  const list = (values: readonly unknown[]) => `{${values.map(value => value ?? 'null').join(',')}}`
  const undo = new Error('undo')
  let outcome: unknown
  await sql
    .begin(async tx => {
      const answers =
        await tx`select * from ${tx(name)}(${holder}, ${list(batch.map(({ id }) => id))}::text::uuid[],
        ${list(batch.map(({ payer }) => payer.accountId))}::text::bigint[],
        ${list(batch.map(({ payer }) => payer.keyId))}::text::bigint[],
        ${list(batch.map(({ amount }) => amount))}::text::bigint[], ${list(batch.map(() => 1))}::text::bigint[],
        ${list(batch.map(({ lifetimeMs }) => lifetimeMs))}::text::bigint[]) order by hold_id`
      outcome = {
        answers: [...answers],
        wallets: [...(await tx`select * from wallet order by account_id`)],
        holds: [
          ...(await tx`select id, account_id, key_id, owner, amount, progress, price_version, budgeted,
            deadline - opened_at as lifetime from hold where id = any (${list(batch.map(({ id }) => id))}::text::uuid[])
            order by id`),
        ],
        budgets: [...(await tx`select * from key_budget order by key_id`)],
      }
      throw undo
    })
    .catch(error => {
      if (error !== undo) outcome = error.code
    })
  return outcome
}
