import type { Database } from '@/db/connect.ts'
import { createCodes, ledgerStore } from '@/ledger/store.ts'
import { newId, random } from './fixture.ts'
import { type Model, newModel, type Real } from './model.ts'

/** What a sequence finds: nano of each account, the cap of the second key, what a code is worth. */
const CREDIT = 200n
const CAP = 150n
const CODE = 30n

/** Worlds that one round of statements makes. */
const AT_ONCE = 50

/** Two accounts, three keys (the second has a cap), two codes (the second can be used twice). */
interface World {
  accountIds: number[]
  keyIds: number[]
  codeHashes: Uint8Array[]
}

/** Worlds that nothing happened in yet, made many at a time: one by one they would cost as much as the sequences. */
export function worldStock(database: Database): { take(): Promise<World> } {
  let stock: World[] = []
  return {
    async take() {
      if (stock.length === 0) stock = await makeWorlds(database)
      const world = stock.pop()
      if (world === undefined) throw new Error('no world was made')
      return world
    },
  }
}

async function makeWorlds(database: Database): Promise<World[]> {
  const accounts = await makeAccounts(database, AT_ONCE * 2)
  const pairs = Array.from({ length: AT_ONCE }, (_, index) => accounts.slice(2 * index, 2 * index + 2))
  const keyIds = await makeKeys(
    database,
    pairs.flatMap(([one = 0, other = 0]) => [one, one, other]),
  )
  const codeHashes = await makeCodes(database)
  return pairs.map((accountIds, index) => ({
    accountIds,
    keyIds: keyIds.slice(3 * index, 3 * index + 3),
    codeHashes: codeHashes.slice(2 * index, 2 * index + 2),
  }))
}

async function makeAccounts({ sql }: Database, count: number): Promise<number[]> {
  const rows = await sql<{ id: bigint }[]>`
    insert into account (email, on_trial) select gen_random_uuid() || '@model.example', false from generate_series(1, ${count})
    returning id`
  const ids = rows.map(({ id }) => Number(id))
  await sql`select ledger_open_account(id, ${CREDIT}, 'topup') from unnest(${ids}::bigint[]) as id`
  return ids
}

async function makeKeys({ sql }: Database, accountIds: readonly number[]): Promise<number[]> {
  const caps = accountIds.map((_, index) => (index % 3 === 1 ? String(CAP) : null))
  const rows = await sql<{ id: bigint }[]>`
    insert into api_key (account_id, lookup, hash, cap_nano, cap_period)
    select q.account_id, gen_random_uuid()::text, sha256(uuid_send(gen_random_uuid())), q.cap,
      case when q.cap is not null then 'month' end
    from unnest(${[...accountIds]}::bigint[], ${caps}::bigint[]) with ordinality as q(account_id, cap, n) order by q.n
    returning id`
  return rows.map(({ id }) => Number(id))
}

async function makeCodes(database: Database): Promise<Uint8Array[]> {
  const hashes = Array.from({ length: AT_ONCE * 2 }, () => random(32))
  for (const uses of [1, 2]) {
    const some = hashes.filter((_, index) => index % 2 === uses - 1)
    await createCodes(database.sql, some, { amountNano: CODE, uses })
  }
  return hashes
}

/** A world with two processes in it, and the model of it. */
export async function enter(database: Database, world: World): Promise<{ model: Model; real: Real }> {
  const store = ledgerStore(database)
  const owners = [newId(), newId()]
  for (const owner of owners) await store.register(owner, 'model')
  const { accountIds, keyIds, codeHashes } = world
  const fresh = { isCounted: false, month: 0, spent: 0n, pending: 0n }
  return {
    real: { store, accountIds, keyIds, owners, codeHashes, steps: 0, newId, ...hands(database, world) },
    model: newModel({
      credits: [CREDIT, CREDIT],
      keys: [
        { account: 0, cap: undefined, ...fresh },
        { account: 0, cap: CAP, ...fresh },
        { account: 1, cap: undefined, ...fresh },
      ],
      codes: codeHashes.map((_, index) => ({ amount: CODE, left: index + 1, usedBy: new Set<number>() })),
    }),
  }
}

type Hands = Pick<Real, 'setSuspended' | 'expireHold' | 'kill' | 'passTime' | 'passMonth' | 'setCap' | 'read'>

/** What no function of the ledger does: what an operator, the clock or a crash does to it. */
function hands({ sql }: Database, { accountIds, keyIds }: World): Hands {
  return {
    async setSuspended(account, suspended) {
      const status = suspended ? 'suspended' : 'active'
      await sql`update account set status = ${status} where id = ${accountIds[account] ?? 0}`
    },
    async expireHold(id) {
      await sql`update hold set deadline = '-infinity' where id = ${id}`
    },
    async kill(owner) {
      await sql`update process set seen = now() - interval '1 day' where id = ${owner}`
    },
    async passTime(account) {
      await sql`update ledger_grant set expires_at = now() - interval '1 second'
        where account_id = ${accountIds[account] ?? 0} and expires_at > now()`
    },
    async passMonth(key) {
      await sql`update key_budget set period_start = period_start - interval '1 month' where key_id = ${keyIds[key] ?? 0}`
    },
    async setCap(key, cap) {
      await sql`update api_key set cap_nano = ${cap?.toString() ?? null}::text::bigint,
        cap_period = ${cap === undefined ? null : 'month'} where id = ${keyIds[key] ?? 0}`
    },
    async read() {
      const [row] = await sql<{ counters: string[] }[]>`
        select array(select credits || '/' || debits || '/' || pending from wallet
            where account_id = any (${accountIds}::bigint[]) order by account_id)
          || array(select coalesce(case when period_start < ledger_period_start(period, now()) then 0 else spent end || '/' || pending,
              '0/0')
            from unnest(${keyIds}::bigint[]) with ordinality as k(id, n) left join key_budget on key_id = k.id order by k.n)
            as counters`
      return row?.counters ?? []
    },
  }
}
