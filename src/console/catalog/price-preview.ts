import { and, desc, eq, gte, isNotNull } from 'drizzle-orm'
import type { Rows } from '@/db/connect.ts'
import { exchange } from '@/db/schema.ts'
import { type Rates, ratesIn } from '@/generation/rates.ts'
import { costOf } from '@/pricing/cost.ts'
import { exactly } from '../requests/receipt.ts'
import { firstIdAt } from '../requests/request-log.ts'

const DAYS = 30
/** The newest are enough to see what a price would do. */
const MOST_REQUESTS = 10_000

/** What the charged requests of a model in the last 30 days cost by its present rates, and would by others. */
export async function previewCost(
  rows: Rows,
  modelId: string,
  before: Rates | undefined,
  after: Rates | undefined,
  now: number,
) {
  const used = await rows
    .select()
    .from(exchange)
    .where(
      and(
        gte(exchange.id, firstIdAt(new Date(now - DAYS * 86_400_000))),
        eq(exchange.model, modelId),
        isNotNull(exchange.costNano),
      ),
    )
    .orderBy(desc(exchange.id))
    .limit(MOST_REQUESTS)
  const sum = (rates: Rates | undefined) =>
    rates === undefined
      ? 0n
      : used.reduce((total, row) => {
          const held = ratesIn(rates, row.serviceTier ?? undefined)
          return total + costOf(row, held, row.extras ?? {}).pico
        }, 0n)
  return { requests: used.length, cost_before: exactly(sum(before)), cost_after: exactly(sum(after)) }
}
