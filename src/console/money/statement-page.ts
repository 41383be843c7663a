import { createHash } from 'node:crypto'
import { formatMoney } from '@/pricing/money.ts'
import type { Statement } from '../api/contract/billing.ts'
import { ENTRY_NAMES } from '../api/contract/entry-names.ts'
import { entryRow, type StoredEntry } from './entries.ts'

interface StatementContent {
  email: string
  accountId: number
  currency: string
  statement: Statement
  /** What requests to each model, in each service tier, were charged in the month, the dearest first. */
  models: readonly { name: string; requests: number; spentNano: bigint }[]
  /** The other entries of the month, oldest first. */
  others: readonly StoredEntry[]
  /** ISO 8601. */
  printedAt: string
}

const STYLE = `
@page { margin: 18mm }
body { font: 14px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 48rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1rem; margin: 2rem 0 .5rem }
p { margin: .25rem 0; color: #555 }
table { border-collapse: collapse; width: 100% } caption { text-align: left }
th, td { text-align: left; padding: .35rem .5rem; border-bottom: 1px solid #ddd; vertical-align: top; overflow-wrap: anywhere }
.sum { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
tfoot td { font-weight: 600; border-bottom: 0 }
`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** A month of an account as a page that prints well. It has no script and loads nothing. */
export function statementPage(content: StatementContent): Response {
  const title = `Statement ${content.statement.month}`
  const sum = sumsOf(content)
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${STYLE}</style></head>
<body>
<h1>Statement of ${monthName(content.statement.month)}</h1>
<p>${escaped(content.email)} (account ${content.accountId})</p>
<p>All amounts in ${escaped(content.currency)}. Times are UTC. Printed ${escaped(content.printedAt)}.</p>
${summary(content.statement, sum)}
${models(content.models, sum)}
${movements(content, sum)}
</body>
</html>
`
  return new Response(html, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    },
  })
}

const MONTHS = new Intl.DateTimeFormat('en-US', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** `2026-11` -> `November 2026` */
function monthName(month: string): string {
  return MONTHS.format(new Date(`${month}-01T00:00:00Z`))
}

function summary({ opening, credits, debits, closing }: Statement, sum: Sum): string {
  const row = (name: string, amount: string) => `<tr><th scope="row">${name}</th>${sum(amount)}</tr>`
  return `<h2>Summary</h2><table><tbody>${row('Balance at the beginning', opening)}${row('Put in', credits)}${row('Taken out', debits)}</tbody>
<tfoot><tr><td>Balance at the end</td>${sum(closing)}</tr></tfoot></table>`
}

function models(rows: StatementContent['models'], sum: Sum): string {
  if (rows.length === 0) return ''
  const lines = rows.map(
    ({ name, requests, spentNano }) =>
      `<tr><td>${escaped(name)}</td><td class="sum">${requests}</td>${sum(formatMoney(spentNano))}</tr>`,
  )
  const { requests, spentNano } = total(rows)
  return `<h2>Usage</h2><table><thead><tr><th scope="col">Model</th><th scope="col" class="sum">Requests charged</th><th scope="col" class="sum">Cost</th></tr></thead>
<tbody>${lines.join('\n')}</tbody>
<tfoot><tr><td>All models</td><td class="sum">${requests}</td>${sum(formatMoney(spentNano))}</tr></tfoot></table>`
}

/** Usage is in one line: each request has a receipt of its own. */
function movements({ models: used, others }: StatementContent, sum: Sum): string {
  const lines = others
    .map(entryRow)
    .map(
      ({ created_at, kind, reason, ref, amount }) =>
        `<tr><td>${created_at.slice(0, 16).replace('T', ' ')}</td><td>${escaped(ENTRY_NAMES[kind])}</td><td>${escaped(reason ?? ref ?? '')}</td>${sum(amount)}</tr>`,
    )
  const { requests, spentNano } = total(used)
  const usage = `<tr><td></td><td>Requests</td><td>${requests} ${requests === 1 ? 'request' : 'requests'}</td>${sum(formatMoney(-spentNano))}</tr>`
  return `<h2>Movements</h2><table><thead><tr><th scope="col">Time</th><th scope="col">Kind</th><th scope="col">For</th><th scope="col" class="sum">Amount</th></tr></thead>
<tbody>${[...lines, ...(requests === 0 ? [] : [usage])].join('\n')}</tbody></table>`
}

function total(rows: StatementContent['models']): { requests: number; spentNano: bigint } {
  return {
    requests: rows.reduce((all, { requests }) => all + requests, 0),
    spentNano: rows.reduce((all, { spentNano }) => all + spentNano, 0n),
  }
}

/** The cell of an amount. */
type Sum = (amount: string) => string

/** All amounts of a statement have as many decimals, two at least and so many that all are exact: as shown, they add up. */
function sumsOf({ statement: { opening, credits, debits }, models: used, others }: StatementContent): Sum {
  const nanos = [...used.map(({ spentNano }) => spentNano), ...others.map(({ amount }) => amount)]
  const amounts = [opening, credits, debits, ...nanos.map(formatMoney)]
  const decimals = Math.max(
    2,
    ...amounts.map(amount => (amount.split('.')[1] ?? '').replace(/0+$/, '').length),
  )
  return amount => {
    const point = amount.indexOf('.')
    return `<td class="sum">${escaped(amount.slice(0, point + 1 + decimals))}</td>`
  }
}

function escaped(text: string): string {
  return Bun.escapeHTML(text)
}
