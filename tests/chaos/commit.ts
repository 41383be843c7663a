import { costOf, holdOf, type LedgerFixture, ledgerFixture, type Payer } from '#tests/ledger/fixture.ts'
import { closeTestServer } from '#tests/support/stores/database.ts'
import { connect } from '@/db/connect.ts'
import type { Ledger } from '@/ledger/ledger.ts'
import { type LedgerStore, ledgerStore } from '@/ledger/store.ts'
import type { HoldRequest } from '@/ledger/types.ts'

const CALLERS = 64
const ACCOUNTS = 64
const ROUNDS = 3
const CREDIT = 10n ** 15n

/** One hold and one settlement. */
type Cycle = (request: HoldRequest) => Promise<unknown>

/**
 * `bun run chaos commit [SECONDS]`: 64 callers who hold and settle without a pause, through the batching writers and with
 * one statement for each on 20 connections; on 64 accounts and on one. Interleaved, medians of three rounds.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const seconds = Number(args[0] ?? 3)
  const fixture = await ledgerFixture()
  const pool = connect(fixture.database.url, { max: 20 })
  try {
    const payers: Payer[] = []
    for (let index = 0; index < ACCOUNTS; index += 1) payers.push(await fixture.payer(CREDIT))
    const grouped = throughLedger(await fixture.open())
    const single = await throughStatements(ledgerStore(pool), fixture)
    const spread = await compare(grouped, single, payers, seconds)
    const hot = await compare(grouped, single, payers.slice(0, 1), seconds)
    console.log(describe(`${ACCOUNTS} accounts`, spread, 2.5))
    console.log(describe('one account', hot, 10))
    return ratio(spread) >= 2.5 && ratio(hot) >= 10
  } finally {
    await pool.close()
    await fixture.close()
    await closeTestServer()
  }
}

function throughLedger(ledger: Ledger): Cycle {
  return async request => {
    await ledger.hold(request)
    await ledger.settle(costOf(request, 5n))
  }
}

/** The same functions of the database, each call a statement and a commit of its own. */
async function throughStatements(store: LedgerStore, { database }: LedgerFixture): Promise<Cycle> {
  const owner = Bun.randomUUIDv7()
  await ledgerStore(database).register(owner, 'single')
  return async request => {
    await store.hold(owner, [request])
    await store.settle([costOf(request, 5n)])
  }
}

interface Rates {
  grouped: number
  single: number
}

async function compare(
  grouped: Cycle,
  single: Cycle,
  payers: readonly Payer[],
  seconds: number,
): Promise<Rates> {
  const rates: Rates[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    rates.push({
      grouped: await measure(grouped, payers, seconds),
      single: await measure(single, payers, seconds),
    })
  }
  return {
    grouped: median(rates.map(rate => rate.grouped)),
    single: median(rates.map(rate => rate.single)),
  }
}

/** Cycles per second. */
async function measure(cycle: Cycle, payers: readonly Payer[], seconds: number): Promise<number> {
  const start = performance.now()
  const until = start + seconds * 1000
  let done = 0
  const callers = Array.from({ length: CALLERS }, async (_, index) => {
    const payer = payers[index % payers.length] ?? { accountId: 0, keyId: 0 }
    while (performance.now() < until) {
      await cycle(holdOf(payer, 10n))
      done += 1
    }
  })
  await Promise.all(callers)
  return (done * 1000) / (performance.now() - start)
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}

function ratio({ grouped, single }: Rates): number {
  return grouped / single
}

function describe(what: string, rates: Rates, bound: number): string {
  const { grouped, single } = rates
  return (
    `commit, ${CALLERS} callers on ${what}: ${grouped.toFixed(0)} cycles/s in groups, ${single.toFixed(0)} with a statement each: ` +
    `x${ratio(rates).toFixed(1)} (at least x${bound})`
  )
}
