import type { ISql, TransactionSql } from 'postgres'
import type { Database, RawSql } from '@/db/connect.ts'
import type { EntryKind, GrantKind } from '@/db/schema.ts'
import { sqlErrorOf } from '@/db/sql-error.ts'
import { Refusal } from '@/errors/refusal.ts'
import { expiries } from './burn-down.ts'
import type {
  Balance,
  DenialReason,
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

/** Calls of the functions in drizzle/0002_ledger_functions.sql; the rules are there. The only SQL beside the audit's. */
export interface LedgerStore {
  register(owner: string, address: string): Promise<void>
  /** How many processes are alive, this one included; 0 if others took this one for dead. */
  heartbeat(owner: string): Promise<number>
  leave(owner: string): Promise<void>
  /**
   * Answers in the order of the batch, in which no id may be there twice; an id that belongs to another exchange gets
   * an Error. An owner that is not alive is TG001.
   */
  hold(owner: string, batch: readonly (HoldRequest | ExtendRequest)[]): Promise<(HoldResult | Error)[]>
  settle(batch: readonly Settlement[]): Promise<SettleResult[]>
  progress(owner: string, costs: ReadonlyMap<string, bigint>): Promise<Stop[]>
  reap(deadAfterMs: number, limit: number): Promise<Reaped[]>
  post(posting: Posting): Promise<Posted>
  createCodes(
    hashes: readonly Uint8Array[],
    terms: { amountNano: bigint; uses: number; expiresAt?: Date },
  ): Promise<void>
  redeem(id: string, hash: Uint8Array, accountId: number): Promise<Redeemed>
  /** Undefined: there is no such account. */
  balance(accountId: number): Promise<Balance | undefined>
  grants(accountId: number): Promise<Grant[]>
  /** Accounts with credit that has expired, at most so many. */
  accountsWithExpiredCredit(limit: number): Promise<number[]>
  /** Takes what is left of it; returns how many entries that made. */
  expireCredit(accountId: number, newId: () => string): Promise<number>
  makePartitions(monthsAhead: number): Promise<number>
  rollUp(): Promise<number>
}

/** SQLSTATEs of our own functions. */
export const OWNER_GONE = 'TG001'
export const REFUSED = 'TG002'

export function ledgerStore({ sql }: Pick<Database, 'sql'>): LedgerStore {
  return {
    async register(owner, address) {
      await sql`select ledger_register(${owner}, ${address})`
    },
    async heartbeat(owner) {
      const [row] = await sql<{ alive: number }[]>`select ledger_heartbeat(${owner}) as alive`
      return row?.alive ?? 0
    },
    async leave(owner) {
      await sql`select ledger_leave(${owner})`
    },
    async hold(owner, batch) {
      const [only] = batch
      const rows =
        batch.length === 1 && only !== undefined ? await holdOne(owner, only) : await holdMany(owner, batch)
      const answers = new Map(rows.map(row => [row.hold_id, toHoldResult(row)]))
      return batch.map(({ id }) => answers.get(id) ?? missingAnswer(id))
    },
    async settle(batch) {
      const [only] = batch
      const rows = batch.length === 1 && only !== undefined ? await settleOne(only) : await settleMany(batch)
      const answers = new Map(rows.map(row => [row.hold_id, toSettleResult(row)]))
      return batch.map(({ id }) => answers.get(id) ?? missingAnswer(id))
    },
    async progress(owner, costs) {
      const rows = await sql<{ hold_id: string; reason: Stop['reason'] }[]>`
        select hold_id, reason from ledger_progress(${owner}, ${list([...costs.keys()])}::text::uuid[], ${list([...costs.values()])}::text::bigint[])`
      return rows.map(row => ({ id: row.hold_id, reason: row.reason }))
    },
    async reap(deadAfterMs, limit) {
      const rows = await sql<{ hold_id: string; account_id: bigint; charged: bigint }[]>`
        select hold_id, account_id, charged from ledger_reap(${deadAfterMs}, ${limit})`
      return rows.map(row => ({
        id: row.hold_id,
        accountId: Number(row.account_id),
        chargedNano: row.charged,
      }))
    },
    post: posting => postEntry(sql, posting),
    createCodes: (hashes, terms) => createCodes(sql, hashes, terms),
    async redeem(id, hash, accountId) {
      const [row] = await sql<{ result: Redeemed['result']; amount: bigint; balance: bigint }[]>`
        select result, amount, balance from ledger_redeem(${id}, ${hash}, ${accountId})`.catch(explain)
      if (row === undefined) return missingAnswer(id)
      return { result: row.result, amountNano: row.amount, balanceNano: row.balance }
    },
    async balance(accountId) {
      const [row] = await sql<{ balance: bigint; pending: bigint; available: bigint }[]>`
        select credits - debits as balance, pending, credits - debits + overdraft - pending as available
        from wallet where account_id = ${accountId}`
      return row && { balanceNano: row.balance, pendingNano: row.pending, availableNano: row.available }
    },
    grants: accountId => selectGrants(sql, accountId),
    async accountsWithExpiredCredit(limit) {
      const rows = await sql<{ account_id: bigint }[]>`
        select distinct account_id from ledger_grant where closed_at is null and expires_at <= now() limit ${limit}`
      return rows.map(row => Number(row.account_id))
    },
    expireCredit: (accountId, newId) =>
      unhurried(async tx => {
        const [wallet] = await tx<{ debits: bigint; pending: bigint; now: string }[]>`
          select debits, pending, (extract(epoch from now()) * 1000)::bigint as now from ledger_lock_wallet(${accountId})`
        if (wallet === undefined) return 0
        const counters = { debitsNano: wallet.debits, pendingNano: wallet.pending }
        const due = expiries(await selectGrants(tx, accountId), counters, new Date(Number(wallet.now)))
        for (const { grant, amountNano, last } of due) {
          await tx`select ledger_expire(${newId()}, ${accountId}, ${grant.entryId}, ${grant.entryKind}, ${amountNano}, ${last})`
        }
        return due.filter(({ amountNano }) => amountNano > 0n).length
      }),
    makePartitions: monthsAhead =>
      unhurried(async tx => {
        const [row] = await tx<
          { made: number }[]
        >`select ledger_make_partitions(now(), ${monthsAhead}) as made`
        return row?.made ?? 0
      }),
    rollUp: () =>
      unhurried(async tx => {
        const [row] = await tx<{ rows: number }[]>`select ledger_roll_up(now()) as rows`
        return row?.rows ?? 0
      }),
  }

  /** A transaction that may take longer than those that an exchange waits for. */
  function unhurried<Result>(act: (tx: TransactionSql<{ bigint: bigint }>) => Promise<Result>) {
    return sql.begin(async tx => {
      await tx`set local statement_timeout = '5min'`
      return act(tx)
    })
  }

  function holdOne(owner: string, item: HoldRequest | ExtendRequest): Promise<HoldRow[]> {
    const [version, lifetime] = termsOf(item)
    return sql<HoldRow[]>`
      select hold_id, result, available, key_available, (extract(epoch from resets_at) * 1000)::bigint as resets_ms
      from ledger_hold(${owner}, ${item.id}, ${item.accountId}, ${item.keyId}, ${item.amountNano}, ${version}, ${lifetime})`
  }

  function holdMany(owner: string, batch: readonly (HoldRequest | ExtendRequest)[]): Promise<HoldRow[]> {
    const terms = batch.map(termsOf)
    return sql<HoldRow[]>`
      select hold_id, result, available, key_available, (extract(epoch from resets_at) * 1000)::bigint as resets_ms
      from ledger_hold_batch(${owner}, ${list(batch.map(({ id }) => id))}::text::uuid[],
        ${list(batch.map(({ accountId }) => accountId))}::text::bigint[], ${list(batch.map(({ keyId }) => keyId))}::text::bigint[],
        ${list(batch.map(({ amountNano }) => amountNano))}::text::bigint[], ${list(terms.map(([version]) => version))}::text::bigint[],
        ${list(terms.map(([, lifetime]) => lifetime))}::text::bigint[])`
  }

  function settleOne({ id, accountId, keyId, costNano, costPico }: Settlement): Promise<SettleRow[]> {
    return sql<SettleRow[]>`
      select hold_id, outcome, charged, overrun, available
      from ledger_settle(${id}, ${accountId}, ${keyId}, ${costNano}, ${costPico.toString()})`
  }

  function settleMany(batch: readonly Settlement[]): Promise<SettleRow[]> {
    return sql<SettleRow[]>`
      select hold_id, outcome, charged, overrun, available
      from ledger_settle_batch(${list(batch.map(({ id }) => id))}::text::uuid[],
        ${list(batch.map(({ accountId }) => accountId))}::text::bigint[], ${list(batch.map(({ keyId }) => keyId))}::text::bigint[],
        ${list(batch.map(({ costNano }) => costNano))}::text::bigint[], ${list(batch.map(({ costPico }) => costPico))}::text::numeric[])`
  }
}

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

/** Stores redeem codes by their hashes, by the pool or as a part of a transaction. */
export async function createCodes(
  sql: RawSql,
  hashes: readonly Uint8Array[],
  { amountNano, uses, expiresAt }: { amountNano: bigint; uses: number; expiresAt?: Date },
): Promise<void> {
  await sql`select ledger_create_codes(
    array(select decode(hash, 'hex') from unnest(${list(hashes.map(toHex))}::text::text[]) as hash),
    ${amountNano}, ${uses}, ${expiresAt?.toISOString() ?? null}::text::timestamptz)`
}

/** What keys with a cap have spent in their running period, by id; those that have no cap or spent nothing are not there. */
export async function keySpending(sql: RawSql, keyIds: readonly number[]): Promise<Map<number, bigint>> {
  if (keyIds.length === 0) return new Map()
  const rows = await sql<{ key_id: bigint; spent: bigint }[]>`
    select key_id, spent from key_budget
    where key_id = any (${list(keyIds)}::text::bigint[]) and period_start >= ledger_period_start(period, now())`
  return new Map(rows.map(row => [Number(row.key_id), row.spent]))
}

interface HoldRow {
  hold_id: string
  result: 'granted' | 'conflict' | DenialReason
  available: bigint
  key_available: bigint | null
  resets_ms: bigint | null
}

interface SettleRow {
  hold_id: string
  outcome: 'settled' | 'trued_up' | 'duplicate'
  charged: bigint
  overrun: bigint
  available: bigint
}

interface GrantRow {
  entry_id: string
  entry_kind: EntryKind
  kind: GrantKind
  amount: bigint
  priority: number
  expires_ms: bigint | null
}

/** An array as Postgres writes it, of values that need no quotes: cheaper than the client's own arrays, and of any type. */
function list(values: readonly (string | number | bigint | null)[]): string {
  return `{${values.map(value => value ?? 'null').join(',')}}`
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** The version of the prices and the lifetime; an extension has neither. */
function termsOf(item: HoldRequest | ExtendRequest): [number | null, number | null] {
  return 'lifetimeMs' in item ? [item.priceVersion, item.lifetimeMs] : [null, null]
}

function toHoldResult(row: HoldRow): HoldResult | Error {
  const affordable = {
    availableNano: row.available,
    keyAvailableNano: row.key_available ?? undefined,
    resetsAt: row.resets_ms === null ? undefined : new Date(Number(row.resets_ms)),
  }
  if (row.result === 'granted') return { granted: true, ...affordable }
  // A broken invariant: request ids are ours and are used once.
  if (row.result === 'conflict') return new Error(`the id ${row.hold_id} was used for another exchange`)
  return { granted: false, reason: row.result, ...affordable }
}

function toSettleResult(row: SettleRow): SettleResult {
  return {
    outcome: row.outcome,
    chargedNano: row.charged,
    overrunNano: row.overrun,
    availableNano: row.available,
  }
}

async function selectGrants(sql: ISql<{ bigint: bigint }>, accountId: number): Promise<Grant[]> {
  const rows = await sql<GrantRow[]>`
    select entry_id, entry_kind, kind, amount, priority, (extract(epoch from expires_at) * 1000)::bigint as expires_ms
    from ledger_grant where account_id = ${accountId}`
  return rows.map(row => ({
    entryId: row.entry_id,
    entryKind: row.entry_kind,
    kind: row.kind,
    amountNano: row.amount,
    priority: row.priority,
    expiresAt: row.expires_ms === null ? undefined : new Date(Number(row.expires_ms)),
  }))
}

function missingAnswer(id: string): never {
  throw new Error(`the database gave no answer for ${id}`)
}

/** A refusal of our functions as a sentence for people; anything else as it is. */
function explain(error: unknown): never {
  if (error instanceof Error && sqlErrorOf(error)?.code === REFUSED) {
    throw new Refusal(error.message, { cause: error })
  }
  throw error
}
