import type { Database } from '@/db/connect.ts'
import type { EndState } from '@/db/schema.ts'
import { perMillion, perUnit } from '@/generation/rate-text.ts'
import { type Rates, ratesIn } from '@/generation/rates.ts'
import { readReceipt, type StoredReceipt } from '@/ledger/receipt.ts'
import { type Bucket, type CostLine, costOf } from '@/pricing/cost.ts'
import { formatMoney } from '@/pricing/money.ts'
import { readVersion } from '@/routing/catalog/price-store.ts'
import type { Receipt } from '../api/contract/requests.ts'

/** What one request cost, and why: for the command line and the console. */

/** What was asked and charged, with what the charge is made of. */
export interface PricedReceipt extends StoredReceipt {
  /** What the cost is made of; undefined where nothing was charged, or its process died before it could tell. */
  lines: readonly CostLine[] | undefined
}

/** Undefined for an id that no request has. */
export async function loadReceipt(db: Database, id: string): Promise<PricedReceipt | undefined> {
  const stored = await readReceipt(db, id)
  if (stored === undefined) return undefined
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
  const rates = (await readVersion(db.orm, exchange.priceVersion))?.rates
  return rates && ratesIn(rates, exchange.serviceTier ?? undefined)
}

/** Request, prices and charges, as the command line and the console show them. */
export function receiptFacts(id: string, receipt: PricedReceipt) {
  const { exchange, movements } = receipt
  return {
    request_id: id,
    account_id: receipt.accountId,
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
    service_tier: exchange?.serviceTier ?? null,
    exact_cost: shownOr(exchange?.costPico, pico => exactly(BigInt(pico))),
    cost: shownOr(exchange?.costNano, formatMoney),
    charges: movements.map(({ kind, amountNano, at }) => ({
      kind,
      amount: formatMoney(-amountNano),
      at: at.toISOString(),
    })),
    charged: formatMoney(movements.reduce((sum, { amountNano }) => sum - amountNano, 0n)),
  }
}

/** A receipt with its tokens, as the console shows it. */
export function receiptRow(
  id: string,
  receipt: PricedReceipt,
  shown: { keyName: string | null; accountEmail: string | null; channel: boolean },
): Receipt {
  const { exchange, heldNano } = receipt
  const facts = receiptFacts(id, receipt)
  return {
    ...facts,
    key_name: shown.keyName,
    account_email: shown.accountEmail,
    channel: shown.channel ? facts.channel : null,
    error_code: exchange?.errorCode ?? null,
    first_byte_ms: exchange?.firstByteMs ?? null,
    attempts: exchange?.attempts ?? null,
    losses: [...(exchange?.losses ?? [])],
    tokens: tokensOf(receipt),
    lines: receipt.lines?.map(lineRow) ?? [],
    held: formatMoney(heldNano ?? 0n),
  }
}

function shownOr<Value>(value: Value | null | undefined, show: (value: Value) => string): string | null {
  return value === null || value === undefined ? null : show(value)
}

function tokensOf({ exchange }: PricedReceipt): Receipt['tokens'] {
  if (exchange === undefined) return null
  return {
    input_uncached: exchange.inputUncached,
    cache_read: exchange.cacheRead,
    cache_write_5m: exchange.cacheWrite5m,
    cache_write_1h: exchange.cacheWrite1h,
    output_text: exchange.outputText,
    reasoning: exchange.reasoning,
    audio_input: exchange.audioInput,
    audio_output: exchange.audioOutput,
  }
}

/** `running`, or `expired` when its process died in the middle, where no end is stored. */
function endStateOf({ exchange, heldNano }: PricedReceipt): EndState | 'running' | 'expired' {
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
export function lineRow({ bucket, size, quantity, rate, pico }: CostLine) {
  return {
    bucket: size === undefined ? bucket : `${bucket} ${size}`,
    quantity: quantity.toString(),
    rate: UNIT_BUCKETS.has(bucket) ? perUnit(rate) : perMillion(rate),
    amount: exactly(pico),
  }
}

/** Pico units as a decimal with all of its twelve places. */
export function exactly(pico: bigint): string {
  const digits = pico.toString().padStart(13, '0')
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`
}
