import type { TransactionSql } from 'postgres'
import { connect } from '@/db/connect.ts'
import { CHECKS, type Check, SELECT_SUMMED, selectAudited } from './audit-checks.ts'

export interface AuditOptions {
  /** Only what came after the last good audit. */
  sinceCheckpoint?: boolean
  accountId?: number
}

export interface AuditCheck {
  name: string
  /** What holds when the count is 0. */
  title: string
  /** How many accounts, entries or parts break it. */
  count: number
  /** By how much in all, where it is about money. */
  differenceNano: bigint
  /** The first of them, in words. */
  first: readonly string[]
  /** True: worth knowing, and lawful; does not fail the audit. */
  informational: boolean
}

export interface AuditReport {
  ok: boolean
  checks: readonly AuditCheck[]
  /** Accounts whose wallet and entries do not agree: they should be suspended. */
  brokenAccounts: readonly number[]
}

/** Any constant that nothing else in the database uses: one audit at a time. */
const LOCK = '8390043843661231208'
const SHOWN = 10
/** Of one check; more accounts than that are broken by one cause, not each by its own. */
const MOST_FINDINGS = 10_000

/** Asks the ledger all the questions of audit-checks.ts, all about the same moment. Nobody waits for it. */
export async function audit(databaseUrl: string, options: AuditOptions = {}): Promise<AuditReport> {
  const database = connect(databaseUrl, { max: 1, applicationName: 'tollgate audit' })
  try {
    await database.sql`select pg_advisory_lock(${LOCK}::bigint)`
    return await database.sql.begin('isolation level repeatable read', tx => run(tx, options))
  } finally {
    await database.close()
  }
}

type Tx = TransactionSql<{ bigint: bigint }>

async function run(tx: Tx, options: AuditOptions): Promise<AuditReport> {
  await tx`set local work_mem = '128MB'`
  await tx.unsafe(selectAudited(options.sinceCheckpoint === true, options.accountId))
  await tx`analyze audited`
  await tx.unsafe(SELECT_SUMMED)
  await tx`analyze summed`
  const full = options.accountId === undefined && options.sinceCheckpoint !== true
  const results: AuditCheck[] = []
  const broken = new Set<number>()
  for (const check of CHECKS.filter(({ about }) => full || about === 'account')) {
    const { accounts, result } = await ask(tx, check)
    results.push(result)
    if (check.breaksAccount) for (const account of accounts) broken.add(account)
  }
  if (options.accountId === undefined) await remember(tx, [...broken])
  return {
    ok: results.every(({ count, informational }) => count === 0 || informational),
    checks: results,
    brokenAccounts: [...broken],
  }
}

interface FindingRow {
  account_id: bigint | null
  text: string
  /** Of all, on every row. */
  total: bigint
  difference: bigint
}

async function ask(tx: Tx, { name, title, informational, query }: Check) {
  const rows = await tx.unsafe<FindingRow[]>(`
    select account_id, text, count(*) over () as total, coalesce(sum(difference) over (), 0)::bigint as difference
    from (${query}) f order by account_id limit ${MOST_FINDINGS}`)
  const result: AuditCheck = {
    name,
    title,
    count: Number(rows[0]?.total ?? 0n),
    differenceNano: rows[0]?.difference ?? 0n,
    first: rows.slice(0, SHOWN).map(({ text }) => text),
    informational: informational === true,
  }
  const accounts = rows.flatMap(row => (row.account_id === null ? [] : [Number(row.account_id)]))
  return { result, accounts }
}

/** Where the next `sinceCheckpoint` starts. A wallet that was found broken keeps its last good state. */
async function remember(tx: Tx, broken: readonly number[]): Promise<void> {
  await tx`
    insert into audit_checkpoint (account_id, seq, credits, debits)
      select account_id, seq, credits, debits from audited
      where account_id <> all (${[...broken]}::bigint[])
    on conflict (account_id) do update
      set seq = excluded.seq, credits = excluded.credits, debits = excluded.debits, audited_at = now()
      where audit_checkpoint.seq <> excluded.seq`
}
