import { and, asc, between, eq, gt, gte, lt, ne, type SQL } from 'drizzle-orm'
import { accountStore } from '@/accounts/store.ts'
import type { Database, Rows } from '@/db/connect.ts'
import { entry } from '@/db/schema.ts'
import { formatMoney } from '@/pricing/money.ts'
import { loadDefaults } from '@/routing/catalog/defaults.ts'
import type { Statement } from '../api/contract/billing.ts'
import { csvDownload } from '../csv.ts'
import type { Console } from '../deployment.ts'
import { invalid, notFound } from '../failure.ts'
import { entryRow, type StoredEntry } from './entries.ts'
import { type Month, readMonths, timesOf } from './months.ts'
import { statementPage } from './statement-page.ts'

/** What moved in each month of UTC, newest first. */
export async function readStatements(database: Database, accountId: number): Promise<Statement[]> {
  return (await readMonths(database, accountId)).map(statementOf).reverse()
}

function statementOf({ month, entries, openingNano, creditsNano, debitsNano }: Month): Statement {
  return {
    month,
    opening: formatMoney(openingNano),
    credits: formatMoney(creditsNano),
    debits: formatMoney(-debitsNano),
    closing: formatMoney(openingNano + creditsNano - debitsNano),
    entries,
  }
}

/**
 * A month of an account, as a page.
 * @throws ConsoleError `not_found` for a month in which nothing moved
 */
export async function printStatement(console: Console, accountId: number, month: string): Promise<Response> {
  const { database, catalog } = console
  const found = await findMonth(database, accountId, month)
  if (found === undefined) throw notFound('statement')
  // One after the other, as a lookup has one connection.
  const { email } = await accountStore(database).findAccount(accountId)
  const models = await readUsageByModel(database, accountId, found)
  const others = await database.orm
    .select()
    .from(entry)
    .where(and(entriesOf(accountId, found), ne(entry.kind, 'usage')))
    .orderBy(asc(entry.seq))
  const { currency } = await loadDefaults(database)
  return statementPage({
    email,
    accountId,
    currency,
    statement: statementOf(found),
    models: models.map(({ model, serviceTier, requests, spentNano }) => ({
      name:
        (model === '' ? 'unknown' : (catalog.find(model)?.displayName ?? model)) +
        (serviceTier === null ? '' : ` (${serviceTier})`),
      requests,
      spentNano,
    })),
    others,
    printedAt: new Date(console.clock.now()).toISOString().slice(0, 16).replace('T', ' '),
  })
}

const CSV_HEADINGS = ['time', 'number', 'kind', 'amount', 'balance', 'reference', 'reason', 'id', 'currency']

/**
 * The entries of a month as a file, oldest first.
 * @throws ConsoleError for what is no month
 */
export async function downloadEntries(
  { database, catalog }: Console,
  accountId: number,
  month: string,
): Promise<Response> {
  if (Number.isNaN(Date.parse(`${month}-01T00:00:00Z`))) {
    throw invalid('month', 'This is no month, as in 2026-11')
  }
  const found = await findMonth(database, accountId, month)
  const { currency } = catalog.defaults()
  return csvDownload(`entries-${month}.csv`, CSV_HEADINGS, csvParts(database.orm, accountId, found, currency))
}

/** Undefined: nothing moved in it. */
async function findMonth(database: Database, accountId: number, month: string): Promise<Month | undefined> {
  return (await readMonths(database, accountId)).find(one => one.month === month)
}

/** The numbers find the entries, and the times tell those of the month from others between them. */
function entriesOf(accountId: number, month: Month): SQL | undefined {
  const { firstSeq, lastSeq } = month
  const { from, to } = timesOf(month)
  return and(
    eq(entry.accountId, accountId),
    between(entry.seq, firstSeq, lastSeq),
    gte(entry.createdAt, from),
    lt(entry.createdAt, to),
  )
}

/**
 * What requests were charged for in that time, by model and service tier, the dearest first. By the entries and not by
 * when requests began: one that ran over the end of a month is in the month that paid for it.
 */
async function readUsageByModel({ sql }: Database, accountId: number, month: Month) {
  const { firstSeq, lastSeq } = month
  const { from, to } = timesOf(month)
  const rows = await sql<{ model: string; tier: string | null; requests: bigint; spent: string }[]>`
    select coalesce(exchange.model, '') as model, exchange.service_tier as tier, count(*) as requests,
      -sum(entry.amount) as spent
    from entry left join exchange on exchange.id = entry.id
    where entry.account_id = ${accountId} and entry.kind = 'usage'
      and entry.seq between ${firstSeq.toString()}::text::bigint and ${lastSeq.toString()}::text::bigint
      and entry.created_at >= ${from.toISOString()}::text::timestamptz
      and entry.created_at < ${to.toISOString()}::text::timestamptz
    group by 1, 2 order by sum(entry.amount), 1, 2`
  return rows.map(({ model, tier, requests, spent }) => ({
    model,
    serviceTier: tier,
    requests: Number(requests),
    spentNano: BigInt(spent),
  }))
}

/** A part holds no connection while it is on its way: whoever reads slowly keeps nobody else waiting. */
const PART = 2_000

/**
 * The balance goes on from that of the month before. It is not `balance_after`, which goes by the numbers: of entries
 * around the end of a month one that is numbered later may be dated earlier, as its transaction began before its turn.
 */
async function* csvParts(rows: Rows, accountId: number, month: Month | undefined, currency: string) {
  if (month === undefined) return
  let after = month.firstSeq - 1n
  let balance = month.openingNano
  for (;;) {
    const part: StoredEntry[] = await rows
      .select()
      .from(entry)
      .where(and(entriesOf(accountId, month), gt(entry.seq, after)))
      .orderBy(asc(entry.seq))
      .limit(PART)
    yield part.map(row => {
      balance += row.amount
      const { created_at, seq, kind, amount, ref, reason, id } = entryRow(row)
      return [created_at, seq, kind, amount, formatMoney(balance), ref, reason, id, currency]
    })
    const last = part.at(-1)
    if (last === undefined || part.length < PART) return
    after = last.seq
  }
}
