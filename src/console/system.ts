import type { Database } from '@/db/connect.ts'
import { readLastAudit } from '@/ledger/audit.ts'
import { formatMoney } from '@/pricing/money.ts'
import type { SystemHealth } from './api/contract/admin-ledger.ts'
import type { Console } from './deployment.ts'

/** How the deployment is, as this process sees it. */
export async function readSystem(console: Console): Promise<SystemHealth> {
  const { database, clock, readings } = console
  const [state, processes, lastAudit, sums] = await Promise.all([
    databaseState(database),
    readProcesses(database),
    readLastAudit(database),
    readSums(database),
  ])
  const ledger = readings.ledger()
  return {
    version: console.version,
    runtime: `Bun ${Bun.version}`,
    started_at: new Date(console.startedAt).toISOString(),
    now: new Date(clock.now()).toISOString(),
    database: state,
    redis: readings.redis(),
    ledger:
      ledger === undefined
        ? null
        : {
            healthy: ledger.healthy,
            hold_wait_ms: Math.round(ledger.holdWaitMs),
            hold_failure_ago_ms:
              ledger.holdFailureAgoMs === undefined ? null : Math.round(ledger.holdFailureAgoMs),
            open_holds: ledger.openHolds,
            settlements_waiting: ledger.settlementsWaiting,
            journal: ledger.journal,
          },
    last_audit: lastAudit === undefined ? null : { ok: lastAudit.ok, at: lastAudit.startedAt.toISOString() },
    processes,
    memory_bytes: process.memoryUsage.rss(),
    ...sums,
  }
}

async function databaseState({ sql }: Database): Promise<SystemHealth['database']> {
  const began = performance.now()
  const [row] = await sql<{ version: string; bytes: bigint }[]>`
    select current_setting('server_version') as version, pg_database_size(current_database()) as bytes`
  const ms = Math.round(performance.now() - began)
  return { ok: true, version: row?.version ?? null, ms, bytes: row === undefined ? null : Number(row.bytes) }
}

async function readProcesses({ sql }: Database): Promise<SystemHealth['processes']> {
  const rows = await sql<{ id: string; address: string; seen_ms: bigint }[]>`
    select id, address, (extract(epoch from seen) * 1000)::bigint as seen_ms from process order by address, id`
  return rows.map(({ id, address, seen_ms }) => ({
    id,
    address,
    seen_at: new Date(Number(seen_ms)).toISOString(),
  }))
}

async function readSums({ sql }: Database): Promise<Pick<SystemHealth, 'accounts' | 'balances' | 'held'>> {
  const [row] = await sql<{ accounts: bigint; balances: string; held: string }[]>`
    select count(*) as accounts, coalesce(sum(credits - debits), 0) as balances,
      coalesce(sum(pending), 0) as held from wallet`
  return {
    accounts: Number(row?.accounts ?? 0n),
    balances: formatMoney(BigInt(row?.balances ?? 0)),
    held: formatMoney(BigInt(row?.held ?? 0)),
  }
}
