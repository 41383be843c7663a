import type { Database } from '@/db/connect.ts'
import { Refusal } from '@/errors/refusal.ts'
import { perMillion, perUnit } from '@/generation/rate-text.ts'
import type { Rates } from '@/generation/rates.ts'
import type { JsonObject } from '@/json/json.ts'
import { readReceipt, type StoredReceipt } from '@/ledger/receipt.ts'
import { type Bucket, type CostLine, costOf } from '@/pricing/cost.ts'
import { formatMoney } from '@/pricing/money.ts'
import { readVersion } from '@/routing/price-store.ts'
import { type Command, readArguments, UsageError } from './command.ts'
import { withDatabase } from './deployment.ts'
import { list, print, table } from './output.ts'

export const receiptCommand: Command = {
  name: 'receipt',
  summary: 'show what one request cost, and why',
  usage: 'REQUEST_ID',
  details: 'REQUEST_ID  the x-request-id of its answer',
  async run(args, io) {
    const { json, positionals } = readArguments(args, {}, ['REQUEST_ID'])
    const id = readRequestId(positionals[0] ?? '')
    const receipt = await withDatabase(io, db => loadReceipt(db, id))
    const row = rowOf(id, receipt)
    print(io, json, row, () => describe(row))
    return 0
  },
}

interface Receipt extends StoredReceipt {
  /** What the cost is made of; undefined where nothing was charged, or its process died before it could tell. */
  lines: readonly CostLine[] | undefined
}

async function loadReceipt(db: Database, id: string): Promise<Receipt> {
  const stored = await readReceipt(db, id)
  if (stored === undefined) throw new Refusal(`There is no request ${id}`)
  const rates = await ratesOf(db, stored)
  const { exchange } = stored
  return {
    ...stored,
    lines:
      rates === undefined || exchange === undefined
        ? undefined
        : costOf(exchange, rates, exchange.extras ?? {}).lines,
  }
}

/** The prices it was charged by, which are kept for good. */
async function ratesOf(db: Database, { exchange }: StoredReceipt): Promise<Rates | undefined> {
  if (exchange === undefined || exchange.priceVersion === null) return undefined
  return (await readVersion(db.orm, exchange.priceVersion))?.rates
}

function readRequestId(text: string): string {
  if (/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) return text.toLowerCase()
  throw new UsageError(`REQUEST_ID is "${text}" but must be an id as x-request-id shows it`)
}

/** Request, tokens, prices and charges as `--json` shows them. */
function rowOf(id: string, receipt: Receipt) {
  const { accountId, exchange, heldNano, movements, lines } = receipt
  const total = movements.reduce((sum, { amountNano }) => sum - amountNano, 0n)
  return {
    request_id: id,
    account_id: accountId,
    key_id: exchange?.keyId ?? null,
    model: exchange?.model ?? null,
    channel: exchange?.channel ?? null,
    surface: exchange?.surface ?? null,
    streamed: exchange?.streamed ?? null,
    started_at: exchange?.startedAt.toISOString() ?? null,
    total_ms: exchange?.totalMs ?? null,
    status: exchange?.status ?? null,
    end_state: endStateOf(receipt),
    usage_source: exchange?.usageSource ?? null,
    price_version: exchange?.priceVersion?.toString() ?? null,
    lines: lines?.map(lineRow) ?? null,
    exact_cost:
      exchange?.costPico === null || exchange === undefined ? null : exactly(BigInt(exchange.costPico)),
    cost: exchange?.costNano === null || exchange === undefined ? null : formatMoney(exchange.costNano),
    set_aside: formatMoney(heldNano ?? 0n),
    charges: movements.map(({ kind, amountNano, at }) => ({
      kind,
      amount: formatMoney(-amountNano),
      at: at.toISOString(),
    })),
    charged: formatMoney(total),
  } satisfies JsonObject
}

function endStateOf({ exchange, heldNano }: Receipt): string {
  return exchange?.endState ?? (heldNano === undefined ? 'expired' : 'running')
}

/** Buckets whose rate is for one; the rates of the others are for a million. */
const UNIT_BUCKETS: ReadonlySet<Bucket> = new Set([
  'per_request',
  'per_image',
  'per_video_second',
  'per_audio_second',
])

/** `rate` is per million tokens or characters, or per request, image or second. */
function lineRow({ bucket, size, quantity, rate, pico }: CostLine) {
  return {
    bucket: size === undefined ? bucket : `${bucket} ${size}`,
    quantity: quantity.toString(),
    rate: UNIT_BUCKETS.has(bucket) ? perUnit(rate) : perMillion(rate),
    amount: exactly(pico),
  }
}

/** Pico units as a decimal with all of its twelve places. */
function exactly(pico: bigint): string {
  const digits = pico.toString().padStart(13, '0')
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`
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
