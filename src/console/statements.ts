import { and, asc, eq, gt, gte, lt, ne, type SQL } from 'drizzle-orm'
import { accountStore } from '@/accounts/store.ts'
import type { Database, Rows } from '@/db/connect.ts'
import { entry } from '@/db/schema.ts'
import { formatMoney } from '@/pricing/money.ts'
import { loadDefaults } from '@/routing/catalog/defaults.ts'
import type { Statement } from './api/contract/billing.ts'
import { csvDownload } from './csv.ts'
import type { Console } from './deployment.ts'
import { entryRow, type StoredEntry } from './entries.ts'
import { invalid, notFound } from './failure.ts'
import { statementPage } from './statement-page.ts'

/** What moved in each month of UTC, newest first. */
export async function readStatements({ sql }: Database, accountId: number): Promise<Statement[]> {
  const rows = await sql<{ month: string; credits: bigint; debits: bigint; entries: bigint }[]>`
    select to_char(created_at at time zone 'UTC', 'YYYY-MM') as month,
      coalesce(sum(amount) filter (where amount > 0), 0)::bigint as credits,
      coalesce(sum(amount) filter (where amount < 0), 0)::bigint as debits, count(*) as entries
    from entry where account_id = ${accountId} group by 1 order by 1`
  let opening = 0n
  const statements = rows.map(({ month, credits, debits, entries }) => {
    const closing = opening + credits + debits
    const statement = {
      month,
      opening: formatMoney(opening),
      credits: formatMoney(credits),
      debits: formatMoney(debits),
      closing: formatMoney(closing),
      entries: Number(entries),
    }
    opening = closing
    return statement
  })
  return statements.reverse()
}

/**
 * A month of an account, as a page.
 * @throws ConsoleError `not_found` for a month in which nothing moved
 */
export async function printStatement(console: Console, accountId: number, month: string): Promise<Response> {
  const { database, catalog } = console
  const statements = await readStatements(database, accountId)
  const statement = statements.find(one => one.month === month)
  if (statement === undefined) throw notFound('statement')
  const bounds = boundsOf(month)
  const [{ email }, models, others, { currency }] = await Promise.all([
    accountStore(database, console.random).findAccount(accountId),
    readUsageByModel(database, accountId, bounds),
    database.orm
      .select()
      .from(entry)
      .where(and(isOf(accountId, bounds), ne(entry.kind, 'usage')))
      .orderBy(asc(entry.seq)),
    loadDefaults(database),
  ])
  return statementPage({
    email,
    accountId,
    currency,
    statement,
    models: models.map(({ model, requests, spentNano }) => ({
      name: model === '' ? 'unknown' : (catalog.find(model)?.displayName ?? model),
      requests,
      spentNano,
    })),
    others,
    printedAt: new Date(console.clock.now()).toISOString().slice(0, 16).replace('T', ' '),
  })
}

const CSV_HEADINGS = ['time', 'number', 'kind', 'amount', 'balance', 'reference', 'reason', 'id']

/** The entries of a month as a file, oldest first. */
export function downloadEntries({ database }: Console, accountId: number, month: string): Response {
  return csvDownload(`entries-${month}.csv`, CSV_HEADINGS, csvParts(database.orm, accountId, boundsOf(month)))
}

interface Bounds {
  from: Date
  to: Date
}

/** @throws ConsoleError for what is no month */
function boundsOf(month: string): Bounds {
  const from = new Date(`${month}-01T00:00:00Z`)
  if (Number.isNaN(from.getTime())) throw invalid('month', 'This is no month, as in 2026-11')
  const to = new Date(from)
  to.setUTCMonth(to.getUTCMonth() + 1)
  return { from, to }
}

function isOf(accountId: number, { from, to }: Bounds): SQL | undefined {
  return and(eq(entry.accountId, accountId), gte(entry.createdAt, from), lt(entry.createdAt, to))
}

/**
 * What requests were charged for in that time, by model, the dearest first. By the entries and not by when requests
 * began: one that ran over the end of a month is in the month that paid for it.
 */
async function readUsageByModel({ sql }: Database, accountId: number, { from, to }: Bounds) {
  const rows = await sql<{ model: string; requests: bigint; spent: string }[]>`
    select coalesce(exchange.model, '') as model, count(*) as requests, -sum(entry.amount) as spent
    from entry left join exchange on exchange.id = entry.id
    where entry.account_id = ${accountId} and entry.kind = 'usage'
      and entry.created_at >= ${from.toISOString()}::text::timestamptz
      and entry.created_at < ${to.toISOString()}::text::timestamptz
    group by 1 order by sum(entry.amount), 1`
  return rows.map(({ model, requests, spent }) => ({
    model,
    requests: Number(requests),
    spentNano: BigInt(spent),
  }))
}

/** A part holds no connection while it is on its way: whoever reads slowly keeps nobody else waiting. */
const PART = 2_000

async function* csvParts(rows: Rows, accountId: number, bounds: Bounds) {
  let after = 0n
  for (;;) {
    const part: StoredEntry[] = await rows
      .select()
      .from(entry)
      .where(and(isOf(accountId, bounds), gt(entry.seq, after)))
      .orderBy(asc(entry.seq))
      .limit(PART)
    yield part
      .map(entryRow)
      .map(row => [
        row.created_at,
        row.seq,
        row.kind,
        row.amount,
        row.balance_after,
        row.ref,
        row.reason,
        row.id,
      ])
    const last = part.at(-1)
    if (last === undefined || part.length < PART) return
    after = last.seq
  }
}
