import type { ISql, TransactionSql } from 'postgres'
import type { Database, RawSql } from '@/db/connect.ts'
import type { EntryKind, GrantKind } from '@/db/schema.ts'
import { sqlErrorOf } from '@/db/sql-error.ts'
import { Refusal } from '@/errors/refusal.ts'
import { burnDown, expiries, type Remainder } from './burn-down.ts'
import type {
  Balance,
  CodeTerms,
  DenialReason,
  ExchangeReference,
  ExtendRequest,
  Grant,
  HoldRequest,
  HoldResult,
  Posted,
  Posting,
  Reaped,
  Redeemed,
  Settlement,
  SettleResult,
  Stop,
} from './types.ts'

const MONTHS_AHEAD = 3

/** SQLSTATEs of our own functions: an owner that is not alive; what cannot be done, in words for people. */
export const OWNER_GONE = 'TG001'
const REFUSED = 'TG002'
/** Postgres' own. */
const OUT_OF_RANGE = '22003'

/** The only SQL beside the audit's. */
export type LedgerStore = ReturnType<typeof ledgerStore>

/** Calls of the functions in src/db/functions/, which hold the rules, on one pool of connections. */
export function ledgerStore({ sql }: Pick<Database, 'sql'>) {
  return {
    async register(owner: string, address: string): Promise<void> {
      await sql`select ledger_register(${owner}, ${address})`
    },
    /** How many processes are alive, this one included, and what the time is; 0 if others took this one for dead. */
    async heartbeat(owner: string): Promise<{ alive: number; nowMs: number }> {
      const [row] = await sql<{ alive: number; now_ms: number }[]>`
        select ledger_heartbeat(${owner}) as alive, extract(epoch from clock_timestamp())::float8 * 1000 as now_ms`
      return { alive: row?.alive ?? 0, nowMs: row?.now_ms ?? 0 }
    },
    async leave(owner: string): Promise<void> {
      await sql`select ledger_leave(${owner})`
    },
    /**
     * Answers in the order of the batch, in which no id may be there twice; an id that belongs to another exchange gets
     * an Error. An owner that is not alive is OWNER_GONE.
     */
    async hold(
      owner: string,
      batch: readonly (HoldRequest | ExtendRequest)[],
    ): Promise<(HoldResult | Error)[]> {
      const [only] = batch
      const answers =
        batch.length === 1 && only !== undefined ? await holdOne(owner, only) : await holdMany(owner, batch)
      return inOrder(answers, batch, readHoldAnswer)
    },
    settle,
    /**
     * As `settle`, of what was left in files. An Error also for a charge that has neither hold nor entry and was made before
     * its account: it is of another, which had the same id before a backup was restored. What the reaper ended without a
     * charge looks the same. A minute, for clocks that differ, and by how much this machine's, which ids are made by, is
     * behind the database's: an hour at most, as one that is years behind would let all pass.
     * @param nowMs what the time is here
     */
    async settleLeft(batch: readonly Settlement[], nowMs: number): Promise<(SettleResult | Error)[]> {
      const charges = batch.filter(({ costNano }) => costNano > 0n)
      const rows = await sql<{ id: string }[]>`
        select q.id from unnest(${list(charges, idOf)}::text::uuid[], ${list(charges, accountOf)}::text::bigint[]) as q(id, account_id)
        join account a on a.id = q.account_id
        where q.id < ledger_first_id(a.created_at - interval '1 minute'
            - least(interval '1 hour', greatest(interval '0', clock_timestamp() - to_timestamp(${nowMs / 1000}))))
          and not exists (select from hold h where h.id = q.id)
          and not exists (select from entry e where e.id = q.id)`
      const foreign = new Set(rows.map(({ id }) => id))
      const own = batch.filter(({ id }) => !foreign.has(id))
      const settled = own.length === 0 ? [] : await settle(own)
      const results = new Map(own.map(({ id }, index) => [id, settled[index]]))
      return batch.map(
        ({ id, accountId }) => results.get(id) ?? new Error(`account ${accountId} was made later`),
      )
    },
    /** Keeps a settlement that the database refused, with its words. */
    async keepRefused(settlement: Settlement, reason: string): Promise<void> {
      const { id, accountId, keyId, costNano, costPico } = settlement
      await sql`
        insert into refused_settlement (id, account_id, key_id, cost_nano, cost_pico, reason)
        values (${id}, ${accountId}, ${keyId}, ${`${costNano}`}, ${`${costPico}`}, ${reason})
        on conflict (id) do update
          set cost_nano = excluded.cost_nano, cost_pico = excluded.cost_pico, reason = excluded.reason, tried_at = now()`
    },
    /**
     * Takes those that are kept to be tried again: by id, after one of them, at most so many. They stay kept. Not one
     * that was refused before its account was made: it is of another, which had the same id before a backup was restored.
     */
    async retakeRefused(after: string | undefined, limit: number): Promise<Settlement[]> {
      const rows = await sql<RefusedRow[]>`
        with taken as (
          update refused_settlement set tried_at = now()
          where id in (
            select r.id from refused_settlement r
            where r.id > ${after ?? FIRST_OF_ALL}
              and not exists (select from account a where a.id = r.account_id and a.created_at > r.refused_at)
            order by r.id limit ${limit} for update
          )
          returning id, account_id, key_id, cost_nano, cost_pico
        )
        select * from taken order by id`
      return rows.map(row => ({
        id: row.id,
        accountId: Number(row.account_id),
        keyId: Number(row.key_id),
        costNano: BigInt(row.cost_nano),
        costPico: BigInt(row.cost_pico),
      }))
    },
    async forgetRefused(ids: readonly string[]): Promise<void> {
      await sql`delete from refused_settlement where id = any (${list(ids, itself)}::text::uuid[])`
    },
    async progress(owner: string, costs: ReadonlyMap<string, bigint>): Promise<Stop[]> {
      const rows = await sql<{ hold_id: string; reason: Stop['reason'] }[]>`
        select hold_id, reason from ledger_progress(${owner}, ${list([...costs.keys()], itself)}::text::uuid[], ${list([...costs.values()], itself)}::text::bigint[])`
      return rows.map(row => ({ id: row.hold_id, reason: row.reason }))
    },
    async reap(deadAfterMs: number, limit: number): Promise<Reaped[]> {
      const rows = await sql<{ hold_id: string; account_id: bigint; charged: bigint }[]>`
        select hold_id, account_id, charged from ledger_reap(${deadAfterMs}, ${limit})`
      return rows.map(row => ({
        id: row.hold_id,
        accountId: Number(row.account_id),
        chargedNano: row.charged,
      }))
    },
    /** Whose holds a process has had for a minute; without those that wait for a charge that was refused. */
    async heldBy(owner: string): Promise<ExchangeReference[]> {
      const rows = await sql<{ id: string; account_id: bigint; key_id: bigint }[]>`
        select h.id, h.account_id, h.key_id from hold h
        where h.owner = ${owner} and h.opened_at < now() - interval '1 minute'
          and not exists (select from refused_settlement r where r.id = h.id)`
      return rows.map(row => ({ id: row.id, accountId: Number(row.account_id), keyId: Number(row.key_id) }))
    },
    post: (posting: Posting) => postEntry(sql, posting),
    /** Those of these exchanges that cost something, and how much of that was not given back. */
    async notGivenBack(exchanges: readonly Pick<ExchangeReference, 'id' | 'accountId'>[]) {
      const accounts = list(exchanges, ({ accountId }) => accountId)
      const rows = await sql<{ id: string; account_id: bigint; rest: bigint }[]>`
        select q.id, q.account_id, (c.charged - r.refunded)::bigint as rest
        from unnest(${list(exchanges, ({ id }) => id)}::text::uuid[], ${accounts}::text::bigint[]) as q(id, account_id)
        cross join lateral (select coalesce(-sum(e.amount), 0) as charged from entry e
          where e.id = q.id and e.kind in ('usage', 'usage_trueup') and e.account_id = q.account_id) c
        cross join lateral (select coalesce(sum(e.amount), 0) as refunded from entry e
          where e.ref = q.id::text and e.kind = 'usage_refund') r
        where c.charged > r.refunded`
      return rows.map(row => {
        const accountId = Number(row.account_id)
        return { id: row.id, accountId, amountNano: row.rest }
      })
    },
    async redeem(id: string, hash: Uint8Array, accountId: number): Promise<Redeemed> {
      const [row] = await sql<{ result: Redeemed['result']; amount: bigint; balance: bigint }[]>`
        select result, amount, balance from ledger_redeem(${id}, ${hash}, ${accountId})`.catch(explain)
      if (row === undefined) return missingAnswer(id)
      return { result: row.result, amountNano: row.amount, balanceNano: row.balance }
    },
    /** Undefined: there is no such account. */
    async balance(accountId: number): Promise<Balance | undefined> {
      const [row] = await sql<{ balance: bigint; pending: bigint; available: bigint }[]>`
        select credits - debits as balance, pending, credits - debits + overdraft - pending as available
        from wallet where account_id = ${accountId}`
      return row && { balanceNano: row.balance, pendingNano: row.pending, availableNano: row.available }
    },
    /** What is left of credit that has an end, in the order of use. */
    expiringCredit: (accountId: number): Promise<Remainder[]> =>
      sql.begin('isolation level repeatable read read only', async tx => {
        const [wallet] = await tx<
          { debits: bigint }[]
        >`select debits from wallet where account_id = ${accountId}`
        const remainders = burnDown(await selectGrants(tx, accountId), wallet?.debits ?? 0n)
        const isEnding = ({ expiresAt, isClosed }: Grant) => expiresAt !== undefined && !isClosed
        return remainders.filter(({ grant, remainderNano }) => isEnding(grant) && remainderNano > 0n)
      }),
    /** Accounts with credit that has expired, at most so many. */
    async accountsWithExpiredCredit(limit: number): Promise<number[]> {
      const rows = await sql<{ account_id: bigint }[]>`
        select distinct account_id from ledger_grant where closed_at is null and expires_at <= now() limit ${limit}`
      return rows.map(row => Number(row.account_id))
    },
    /** Takes what is left of it. */
    expireCredit: (accountId: number) =>
      unhurried(async tx => {
        const [wallet] = await tx<{ debits: bigint; pending: bigint; now: string }[]>`
          select debits, pending, (extract(epoch from now()) * 1000)::bigint as now from ledger_lock_wallet(${accountId})`
        if (wallet === undefined) return
        const counters = { debitsNano: wallet.debits, pendingNano: wallet.pending }
        const due = expiries(await selectGrants(tx, accountId), counters, new Date(Number(wallet.now)))
        for (const { grant, amountNano, last } of due) {
          await tx`select ledger_expire(${Bun.randomUUIDv7()}, ${accountId}, ${grant.entryId}, ${grant.entryKind}, ${amountNano}, ${last})`
        }
      }),
    /**
     * Makes what holds the entries of the next months, and of whatever others there are entries; returns how many months
     * were missing.
     */
    makePartitions: () =>
      unhurried(async tx => {
        const [row] = await tx<
          { made: number }[]
        >`select ledger_make_partitions(now(), ${MONTHS_AHEAD}) as made`
        return row?.made ?? 0
      }),
    rollUp: () => unhurried(tx => tx`select ledger_roll_up(now())`),
    /** Brings budgets of a period that is still to come, since the clock was set back, to the one that runs. */
    returnBudgets: () => unhurried(tx => tx`select ledger_return_budgets()`),
  }

  /** In the order of the batch as well; of an account that the database does not have, an Error. */
  async function settle(batch: readonly Settlement[]): Promise<(SettleResult | Error)[]> {
    const [only] = batch
    const answers = batch.length === 1 && only !== undefined ? await settleOne(only) : await settleMany(batch)
    return inOrder(answers, batch, readSettleAnswer)
  }

  /** A transaction that may take longer than those that an exchange waits for. */
  function unhurried<Result>(act: (tx: TransactionSql<{ bigint: bigint }>) => Promise<Result>) {
    return sql.begin(async tx => {
      await tx`set local statement_timeout = '5min'`
      return act(tx)
    })
  }

  async function ask<Answer>(statement: string, parameters: Parameter[]): Promise<Answer[]> {
    const [row] = await sql.unsafe<{ answers: string | null }[]>(statement, parameters, { prepare: true })
    return parseAnswers(row?.answers ?? '[]')
  }

  function holdOne(owner: string, item: HoldRequest | ExtendRequest): Promise<HoldAnswer[]> {
    const { id, accountId, keyId, amountNano } = item
    return ask(HOLD_ONE, [owner, id, accountId, keyId, amountNano, versionOf(item), lifetimeOf(item)])
  }

  function holdMany(owner: string, batch: readonly (HoldRequest | ExtendRequest)[]): Promise<HoldAnswer[]> {
    const amounts = list(batch, ({ amountNano }) => amountNano)
    const exchanges = [list(batch, idOf), list(batch, accountOf), list(batch, keyOf)]
    return ask(HOLD_MANY, [owner, ...exchanges, amounts, list(batch, versionOf), list(batch, lifetimeOf)])
  }

  function settleOne({ id, accountId, keyId, costNano, costPico }: Settlement): Promise<SettleAnswer[]> {
    return ask(SETTLE_ONE, [id, accountId, keyId, costNano, `${costPico}`])
  }

  function settleMany(batch: readonly Settlement[]): Promise<SettleAnswer[]> {
    const costs = [list(batch, ({ costNano }) => costNano), list(batch, ({ costPico }) => costPico)]
    return ask(SETTLE_MANY, [list(batch, idOf), list(batch, accountOf), list(batch, keyOf), ...costs])
  }
}

type Parameter = string | number | bigint | null

/** A row of ledger_hold. */
type HoldAnswer = [
  id: string,
  result: 'granted' | 'conflict' | DenialReason,
  available: string,
  keyAvailable: string,
  resetsMs: string,
]

/** A row of ledger_settle. */
type SettleAnswer = [
  id: string,
  outcome: 'settled' | 'trued_up' | 'duplicate',
  charged: string,
  overrun: string,
  available: string,
]

/**
 * Answers as one text, an array of arrays of strings in JSON: the client would take a row apart column by column, which
 * costs more than all the rest of a batch. Nothing in it needs to be escaped; null is an empty string.
 */
const HOLD_ANSWERS = `select '[' || string_agg(format('["%s","%s","%s","%s","%s"]', hold_id, result, available,
  key_available, (extract(epoch from resets_at) * 1000)::bigint), ',') || ']' as answers from`
const SETTLE_ANSWERS = `select '[' || string_agg(format('["%s","%s","%s","%s","%s"]', hold_id, outcome, charged, overrun,
  available), ',') || ']' as answers from`

const HOLD_ONE = `${HOLD_ANSWERS} ledger_hold($1, $2, $3, $4, $5, $6, $7)`
const HOLD_MANY = `${HOLD_ANSWERS} ledger_hold_many($1, $2::text::uuid[], $3::text::bigint[], $4::text::bigint[],
  $5::text::bigint[], $6::text::bigint[], $7::text::bigint[])`
const SETTLE_ONE = `${SETTLE_ANSWERS} ledger_settle($1, $2, $3, $4, $5)`
/** What ledger_settle_batch is: a function in plain SQL, which a Postgres before 18 plans anew at each call. */
const SETTLE_MANY = `${SETTLE_ANSWERS} ledger_close($1::text::uuid[], $2::text::bigint[], $3::text::bigint[],
  $4::text::bigint[], $5::text::numeric[], false)`

/**
 * Posts one entry, by the pool or as a part of a transaction.
 * @throws Refusal
 */
export async function postEntry(sql: RawSql, posting: Posting): Promise<Posted> {
  const { id, accountId, kind, amountNano, ref, reason, expiresAt, idempotency } = posting
  const [row] = await sql<{ entry_id: string; posted: boolean; balance: bigint }[]>`
    select entry_id, posted, balance from ledger_post(${id}, ${accountId}, ${kind}, ${amountNano}, ${ref ?? null},
      ${reason ?? null}, ${expiresAt?.toISOString() ?? null}::text::timestamptz, ${idempotency?.scope ?? null},
      ${idempotency?.key ?? null})`.catch(explain)
  if (row === undefined) return missingAnswer(id)
  return { entryId: row.entry_id, posted: row.posted, balanceNano: row.balance }
}

/** Stores redeem codes by their hashes, as a part of a transaction. */
export async function createCodes(
  sql: RawSql,
  hashes: readonly Uint8Array[],
  { amountNano, uses, expiresAt, creditExpiresAt }: CodeTerms,
): Promise<void> {
  await sql`select ledger_create_codes(
    array(select decode(hash, 'hex') from unnest(${list(hashes, toHex)}::text::text[]) as hash),
    ${amountNano}, ${uses}, ${expiresAt?.toISOString() ?? null}::text::timestamptz,
    ${creditExpiresAt?.toISOString() ?? null}::text::timestamptz)`
}

/** Takes back the uses that are left of a code, as a part of a transaction. False: none are, or they were taken back. */
export async function revokeCode(sql: RawSql, hash: Uint8Array): Promise<boolean> {
  const [row] = await sql<{ revoked: boolean }[]>`select ledger_revoke_code(${hash}) as revoked`
  return row?.revoked === true
}

/** A charge that was made up for. */
export interface LostCharge {
  /** The request's. */
  id: string
  accountId: number
  /** 0: nothing lacked. Below 0: more was charged at a checkpoint than the request cost. */
  chargedNano: bigint
}

/** Lost charges that one transaction makes up for, so that their wallets are not locked for long. */
export const LOST_AT_ONCE = 200

/**
 * In SQL: the result `x`, which nothing was charged for, was made or stored before its account, so it is of another, which had
 * the same id before a backup was restored. An hour, as ids are made by machines whose clocks may be behind the database's; a
 * minute where both times are a database's, of which another may have taken over.
 * Entries are counted, since the planner may answer `not exists` below a `not` by a hash of all of them.
 */
export const OF_ANOTHER_ACCOUNT = `(exists (select from account o where o.id = x.account_id
    and (x.id < ledger_first_id(o.created_at - interval '1 hour') or x.stored_at < o.created_at - interval '1 minute'))
  and (select count(*) from entry o where o.id = x.id) = 0)`

/**
 * Charges what stored results say that their requests cost, where the entry of that is lost: a copy of the database that was
 * behind took over. What may still be posted by itself is left alone, and what is of another account. By id, after one of
 * them, at most LOST_AT_ONCE.
 */
export async function chargeLost(sql: RawSql, after: string): Promise<LostCharge[]> {
  // In the order of ids, and no further than needed: else all entries would be read for each two hundred.
  await sql`
    select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
      set_config('enable_sort', 'off', true), set_config('max_parallel_workers_per_gather', '0', true)`
  const rows = await sql<{ id: string; account_id: bigint; charged: bigint }[]>`
    with lost as (
      select x.id, x.account_id, x.key_id, x.cost_nano, x.cost_pico from exchange x
      where x.id > ${after} and x.cost_nano > 0
        and x.started_at + x.total_ms * interval '1 ms' < now() - interval '1 minute'
        and not exists (select from hold h where h.id = x.id)
        and not exists (select from refused_settlement r where r.id = x.id)
        and not ${sql.unsafe(OF_ANOTHER_ACCOUNT)}
        and not exists (select from entry e where e.id = x.id
          and (e.kind = 'usage_trueup' or e.kind = 'usage' and e.ref is distinct from 'expired'))
      order by x.id limit ${LOST_AT_ONCE}
    )
    select s.hold_id as id, l.account_id, s.charged from ledger_settle_batch(
      array(select id from lost order by id), array(select account_id from lost order by id),
      array(select key_id from lost order by id), array(select cost_nano from lost order by id),
      array(select cost_pico from lost order by id)) s
    join lost l on l.id = s.hold_id order by s.hold_id`
  return rows.map(row => {
    const accountId = Number(row.account_id)
    return { id: row.id, accountId, chargedNano: row.charged }
  })
}

/** What keys with a cap have spent in their running period, by id; those that have no cap or spent nothing are not there. */
export async function keySpending(sql: RawSql, keyIds: readonly number[]): Promise<Map<number, bigint>> {
  if (keyIds.length === 0) return new Map()
  const rows = await sql<{ key_id: bigint; spent: bigint }[]>`
    select key_id, spent from key_budget
    where key_id = any (${list(keyIds, itself)}::text::bigint[]) and period_start >= ledger_period_start(period, now())`
  return new Map(rows.map(row => [Number(row.key_id), row.spent]))
}

/** Before every id. */
const FIRST_OF_ALL = '00000000-0000-0000-0000-000000000000'

interface RefusedRow {
  id: string
  account_id: bigint
  key_id: bigint
  cost_nano: string
  cost_pico: string
}

interface GrantRow {
  entry_id: string
  entry_kind: EntryKind
  seq: bigint
  kind: GrantKind
  amount: bigint
  debits_before: bigint
  priority: number
  expires_ms: bigint | null
  is_closed: boolean
}

interface ReturnRow {
  entry_id: string
  seq: bigint
  amount: bigint
  debits_before: bigint
}

/**
 * A value of each item as an array as Postgres writes it, of values that need no quotes: cheaper than the client's own
 * arrays, and of any type.
 */
function list<Item>(items: readonly Item[], read: (item: Item) => Parameter): string {
  let text = '{'
  for (const item of items) {
    if (text.length > 1) text += ','
    text += read(item) ?? 'null'
  }
  return `${text}}`
}

const itself = <Value>(value: Value) => value
const idOf = ({ id }: ExchangeReference) => id
const accountOf = ({ accountId }: ExchangeReference) => accountId
const keyOf = ({ keyId }: ExchangeReference) => keyId

/** An extension has neither a version of the prices nor a lifetime. */
const versionOf = (item: HoldRequest | ExtendRequest) => ('lifetimeMs' in item ? item.priceVersion : null)
const lifetimeOf = (item: HoldRequest | ExtendRequest) => ('lifetimeMs' in item ? item.lifetimeMs : null)

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** JSON.parse with the type that it has: safe for the answers of our own statements, which are made of such arrays. */
function parseAnswers<Answer>(json: string): Answer[] {
  return JSON.parse(json) as Answer[]
}

/**
 * Each item's answer, in the order of the batch; answers begin with the id, and nearly always have that order too. None is
 * given for an account that is not there, as after a restore of an older backup: that must not keep others from theirs.
 */
function inOrder<Answer extends HoldAnswer | SettleAnswer, Result>(
  answers: readonly Answer[],
  batch: readonly ExchangeReference[],
  read: (answer: Answer) => Result,
): (Result | Error)[] {
  return batch.map(({ id, accountId }, index) => {
    const next = answers[index]
    const own = next?.[0] === id ? next : answers.find(([of]) => of === id)
    return own === undefined ? new Error(`the database has no account ${accountId}`) : read(own)
  })
}

function readHoldAnswer([id, result, available, keyAvailable, resetsMs]: HoldAnswer): HoldResult | Error {
  const availableNano = BigInt(available)
  const keyAvailableNano = keyAvailable === '' ? undefined : BigInt(keyAvailable)
  const resetsAt = resetsMs === '' ? undefined : new Date(Number(resetsMs))
  if (result === 'granted') return { granted: true, availableNano, keyAvailableNano, resetsAt }
  // A broken invariant: request ids are ours and are used once.
  if (result === 'conflict') return new Error(`the id ${id} was used for another exchange`)
  return { granted: false, reason: result, availableNano, keyAvailableNano, resetsAt }
}

function readSettleAnswer([, outcome, charged, overrun, available]: SettleAnswer): SettleResult {
  return {
    outcome,
    chargedNano: BigInt(charged),
    overrunNano: BigInt(overrun),
    availableNano: BigInt(available),
  }
}

async function selectGrants(sql: ISql<{ bigint: bigint }>, accountId: number): Promise<Grant[]> {
  const rows = await sql<GrantRow[]>`
    select g.entry_id, g.entry_kind, e.seq, g.kind, g.amount, g.priority,
      (sum(g.amount) over (order by e.seq) - e.balance_after)::bigint as debits_before,
      (extract(epoch from g.expires_at) * 1000)::bigint as expires_ms, g.closed_at is not null as is_closed
    from ledger_grant g join entry e on e.id = g.entry_id and e.kind = g.entry_kind where g.account_id = ${accountId}`
  const returns = await sql<ReturnRow[]>`
    select g.entry_id, r.seq, -r.amount as amount, (r.amount - r.balance_after + (
      select sum(c.amount) from ledger_grant c join entry e on e.id = c.entry_id and e.kind = c.entry_kind
      where c.account_id = g.account_id and e.seq < r.seq))::bigint as debits_before
    from ledger_grant g join entry e on e.id = g.entry_id and e.kind = g.entry_kind
    join entry r on r.ref = e.ref and r.kind in ('refund', 'chargeback') and r.account_id = g.account_id and r.amount < 0
    where g.account_id = ${accountId} and g.entry_kind = 'topup'`
  const returnsOf = Map.groupBy(returns, ({ entry_id }) => entry_id)
  return rows.map(row => ({
    entryId: row.entry_id,
    entryKind: row.entry_kind,
    seq: Number(row.seq),
    kind: row.kind,
    amountNano: row.amount,
    debitsBeforeNano: row.debits_before,
    priority: row.priority,
    expiresAt: row.expires_ms === null ? undefined : new Date(Number(row.expires_ms)),
    isClosed: row.is_closed,
    returns: (row.entry_kind === 'topup' ? (returnsOf.get(row.entry_id) ?? []) : []).map(
      ({ seq, amount, debits_before }) => ({
        seq: Number(seq),
        amountNano: amount,
        debitsBeforeNano: debits_before,
      }),
    ),
  }))
}

function missingAnswer(id: string): never {
  throw new Error(`the database gave no answer for ${id}`)
}

/** A refusal of our functions as a sentence for people; anything else as it is. */
function explain(error: unknown): never {
  const code = sqlErrorOf(error)?.code
  if (error instanceof Error && code === REFUSED) throw new Refusal(error.message, { cause: error })
  if (code === OUT_OF_RANGE) {
    throw new Refusal('With this amount the account would hold more than the ledger has numbers for', {
      cause: error,
    })
  }
  throw error
}
