import { desc, eq, sql as fragment } from 'drizzle-orm'
import type { TransactionSql } from 'postgres'
import { connect, type Database } from '@/db/connect.ts'
import { auditRun } from '@/db/schema.ts'
import { CHECKS, type Check } from './audit-checks.ts'
import { SELECT_SUMMED, selectAudited, selectFresh, setFirstId } from './audit-tables.ts'

/** What an audit looks at: all of the ledger unless said. */
interface AuditOptions {
  /** Only what came after the last good audit. */
  sinceCheckpoint?: boolean
  /** Only this account; such an audit is not kept in the history. */
  accountId?: number | undefined
  /** Who asks, for the history; undefined: the clock. */
  by?: string
}

/** One thing that must hold, and what breaks it. */
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

/** What an audit found and did. */
export interface AuditReport {
  ok: boolean
  checks: readonly AuditCheck[]
  /** Accounts whose wallet and entries do not agree. */
  brokenAccounts: readonly number[]
  /** Those of them that this audit suspended; the others were already. */
  suspendedAccounts: readonly number[]
}

type Findings = Omit<AuditReport, 'suspendedAccounts'>

/** Any constant that nothing else in the database uses: one audit at a time. */
const LOCK = '8390043843661231208'
const SHOWN = 10
/** Of one check; more accounts than that are broken by one cause, not each by its own. */
const MOST_FINDINGS = 10_000

/**
 * Asks the ledger all the questions of audit-checks.ts, all about the same moment. Nobody waits for it. An account whose
 * wallet is not what its entries say is suspended, which the log of acts tells: better no service than service on money
 * that may not be there. An audit of all accounts is kept in the history.
 */
export function audit(databaseUrl: string, options: AuditOptions = {}): Promise<AuditReport> {
  return alone(databaseUrl, async database => {
    await database.sql`select pg_advisory_lock(${LOCK}::bigint)`
    return perform(database, options)
  })
}

/** What the history says of the books. */
export interface LastAudit {
  /** Of the newest audit and the newest full one: what is new may hold where the rest does not. */
  ok: boolean
  /** Of the newest audit, whoever made it. */
  startedAt: Date
}

/**
 * The audit that the clock asks for, of what is new: one process makes it, and only if none was made for that long.
 * `report` is undefined if it was another's turn.
 */
export function auditInTurn(
  databaseUrl: string,
  pauseMs: number,
): Promise<{ report: AuditReport | undefined; last: LastAudit | undefined }> {
  return alone(databaseUrl, async database => {
    const [turn] = await database.sql<{ mine: boolean }[]>`
      select pg_try_advisory_lock(${LOCK}::bigint) and not exists (
        select from audit_run where started_at > clock_timestamp() - ${pauseMs}::float8 * interval '1 millisecond') as mine`
    const report = turn?.mine === true ? await perform(database, { sinceCheckpoint: true }) : undefined
    return { report, last: await readLastAudit(database) }
  })
}

/** Undefined: none was made yet. */
export async function readLastAudit({ orm }: Pick<Database, 'orm'>): Promise<LastAudit | undefined> {
  const { ok, startedAt, full } = auditRun
  const newest = () => orm.select({ ok, startedAt }).from(auditRun).orderBy(desc(startedAt)).limit(1)
  const [[last], [lastFull]] = await Promise.all([newest(), newest().where(eq(full, true))])
  return last && { ok: last.ok && lastFull?.ok !== false, startedAt: last.startedAt }
}

/** A connection of its own: what an audit takes lasts longer than any statement of an exchange may. */
async function alone<Result>(url: string, act: (database: Database) => Promise<Result>): Promise<Result> {
  const database = connect(url, { max: 1, applicationName: 'tollgate audit' })
  try {
    return await act(database)
  } finally {
    await database.close()
  }
}

async function perform(database: Database, options: AuditOptions): Promise<AuditReport> {
  const began = performance.now()
  const findings = await database.sql.begin('isolation level repeatable read', tx => run(tx, options))
  const suspendedAccounts = await suspend(database, findings.brokenAccounts)
  const report = { ...findings, suspendedAccounts }
  if (options.accountId === undefined)
    await keep(database, options, report, Math.round(performance.now() - began))
  return report
}

/** Their keys are known to every process, which forgets them at the message (accounts/key-cache.ts). */
async function suspend({ sql }: Database, accountIds: readonly number[]): Promise<number[]> {
  if (accountIds.length === 0) return []
  const rows = await sql<{ id: bigint }[]>`
    with suspended as (
      update account set status = 'suspended' where id = any (${[...accountIds]}::bigint[]) and status = 'active' returning id),
    acts as (
      insert into admin_act (email, action, target, before, after)
      select 'ledger audit', 'account.suspend', 'account ' || id, '{"status": "active"}',
        '{"status": "suspended", "reason": "its balance is not what its entries say"}' from suspended)
    select id, pg_notify('tollgate_keys', 'account:' || id) from suspended`
  return rows.map(({ id }) => Number(id))
}

async function keep(
  { orm }: Database,
  { by, sinceCheckpoint }: AuditOptions,
  { ok, checks, suspendedAccounts }: AuditReport,
  ms: number,
): Promise<void> {
  await orm.insert(auditRun).values({
    startedAt: fragment`clock_timestamp() - ${ms}::integer * interval '1 millisecond'`,
    ms,
    by: by ?? null,
    full: sinceCheckpoint !== true,
    ok,
    checks: checks.map(({ name, title, informational, count, differenceNano, first }) => ({
      name,
      title,
      informational,
      count,
      difference_nano: String(differenceNano),
      first: [...first],
    })),
    suspended: [...suspendedAccounts],
  })
}

type Tx = TransactionSql<{ bigint: bigint }>

async function run(tx: Tx, options: AuditOptions): Promise<Findings> {
  await tx`set local work_mem = '128MB'`
  // Prices are few, which the planner cannot know: it would compile each check for seconds, to read for milliseconds.
  await tx`set local jit = off`
  const sinceCheckpoint = options.sinceCheckpoint === true
  await tx.unsafe(setFirstId(sinceCheckpoint))
  await tx.unsafe(selectAudited(sinceCheckpoint, options.accountId))
  await tx`analyze audited`
  await tx.unsafe(selectFresh(sinceCheckpoint))
  await tx.unsafe(SELECT_SUMMED)
  await tx`analyze summed`
  const full = options.accountId === undefined && !sinceCheckpoint
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
  /** A whole number; text, since many differences together may be more than a bigint holds. */
  difference: string
}

async function ask(tx: Tx, { name, title, informational, query }: Check) {
  const rows = await tx.unsafe<FindingRow[]>(`
    select account_id, text, count(*) over () as total, trunc(coalesce(sum(difference) over (), 0))::text as difference
    from (${query}) f order by account_id limit ${MOST_FINDINGS}`)
  const result: AuditCheck = {
    name,
    title,
    count: Number(rows[0]?.total ?? 0n),
    differenceNano: BigInt(rows[0]?.difference ?? 0),
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
      where seq <> known_seq and account_id <> all (${[...broken]}::bigint[])
    on conflict (account_id) do update
      set seq = excluded.seq, credits = excluded.credits, debits = excluded.debits, audited_at = now()
      where audit_checkpoint.seq <> excluded.seq`
}
