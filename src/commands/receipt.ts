import { lineRow, loadReceipt, type PricedReceipt, receiptFacts } from '@/console/requests/receipt.ts'
import { Refusal } from '@/errors/refusal.ts'
import type { JsonObject } from '@/json/json.ts'
import { formatMoney } from '@/pricing/money.ts'
import { type Command, readArguments, UsageError } from './command.ts'
import { withDatabase } from './deployment.ts'
import { list, print, table } from './output.ts'

/** `receipt`: one request's cost, down to the rates. */
export const receiptCommand: Command = {
  name: 'receipt',
  summary: 'show what one request cost, and why',
  usage: 'REQUEST_ID',
  details: 'REQUEST_ID  the x-request-id of its answer',
  async run(args, io) {
    const { json, positionals } = readArguments(args, {}, ['REQUEST_ID'])
    const id = readRequestId(positionals[0] ?? '')
    const receipt = await withDatabase(io, db => loadReceipt(db, id))
    if (receipt === undefined) throw new Refusal(`There is no request ${id}`)
    const row = rowOf(id, receipt)
    print(io, json, row, () => describe(row))
    return 0
  },
}

function readRequestId(text: string): string {
  if (/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) return text.toLowerCase()
  throw new UsageError(`REQUEST_ID is "${text}" but must be an id as x-request-id shows it`)
}

/** Request, prices and charges as `--json` shows them. */
function rowOf(id: string, receipt: PricedReceipt) {
  return {
    ...receiptFacts(id, receipt),
    lines: receipt.lines?.map(lineRow) ?? null,
    set_aside: formatMoney(receipt.heldNano ?? 0n),
  } satisfies JsonObject
}

const STATES: Readonly<Record<string, string>> = {
  running: 'running',
  expired: 'its process died; charged at its last checkpoint',
}

function describe(row: ReturnType<typeof rowOf>): string {
  const facts = list([
    ['request', row.request_id],
    ['account', String(row.account_id)],
    ['model', row.model ?? 'unknown'],
    ['channel', row.channel ?? 'none'],
    ['started', row.started_at ?? 'unknown'],
    ['ended', STATES[row.end_state] ?? row.end_state],
    ['tokens known from', row.usage_source ?? 'nobody'],
    ['price version', row.price_version ?? 'none'],
    ...(row.service_tier === null ? [] : [['service tier', row.service_tier] as const]),
  ])
  const lines = table(
    ['for', 'quantity', 'rate', 'amount'],
    (row.lines ?? []).map(({ bucket, quantity, rate, amount }) => [bucket, quantity, rate, amount]),
  )
  const sums = list([
    ['exact cost', row.exact_cost ?? 'none'],
    ['cost', row.cost ?? 'none'],
    ['set aside', row.set_aside],
    ...row.charges.map(({ kind, amount, at }) => [kind, `${amount}  ${at}`] as const),
    ['charged', row.charged],
  ])
  return [facts, lines, sums].join('\n\n')
}
