import { costOf, holdOf, ledgerFixture, type Payer } from '#tests/ledger/fixture.ts'
import { closeTestServer } from '#tests/support/stores/database.ts'
import {
  type LedgerOrder,
  type LedgerProcess,
  startLedgerProcess,
} from '#tests/support/stores/ledger-process.ts'
import { audit } from '@/ledger/audit.ts'

const ACCOUNTS = 8
const CREDIT = 10n ** 9n

interface Exchange {
  hold: LedgerOrder
  extend: LedgerOrder
  end: LedgerOrder
  /** What it takes from its account. */
  costNano: bigint
  accountId: number
}

/**
 * `bun run chaos storm [EXCHANGES]`: every hold, extension, settlement and void is sent three times, reordered, from two
 * processes that do not know of each other. What each account pays must be what one sending of each would take.
 */
export async function run(args: readonly string[]): Promise<boolean> {
  const count = Number(args[0] ?? 3_000)
  const fixture = await ledgerFixture()
  const { url } = fixture.database
  const processes = [await startLedgerProcess(url), await startLedgerProcess(url)]
  try {
    const payers: Payer[] = []
    for (let index = 0; index < ACCOUNTS; index += 1) payers.push(await fixture.payer(CREDIT))
    const exchanges = Array.from({ length: count }, (_, index) => exchangeOf(payers, index))
    let failed = 0
    for (const step of ['hold', 'extend', 'end'] as const) {
      failed += await storm(
        processes,
        exchanges.map(exchange => exchange[step]),
      )
    }
    const wrong = await differences(fixture.database, payers, exchanges)
    const { ok } = await audit(url)
    console.log(
      `storm: ${count} exchanges, each step sent 3 times from 2 processes, ${9 * count} orders, ${failed} failed: ` +
        `${wrong} of ${ACCOUNTS} wallets differ from one sending of each; audit ${ok ? 'green' : 'RED'}`,
    )
    return wrong === 0 && failed === 0 && ok
  } finally {
    await Promise.all(processes.map(process => process.close()))
    await fixture.close()
    await closeTestServer()
  }
}

function exchangeOf(payers: readonly Payer[], index: number): Exchange {
  const payer = payers[index % payers.length] ?? { accountId: 0, keyId: 0 }
  const item = holdOf(payer, 100n)
  const costNano = index % 5 === 0 ? 0n : BigInt(1 + (index % 170))
  return {
    hold: { act: 'hold', item },
    extend: { act: 'extend', item: { ...payer, id: item.id, amountNano: 150n } },
    end: { act: costNano === 0n ? 'release' : 'settle', item: costOf(item, costNano) },
    costNano,
    accountId: payer.accountId,
  }
}

/** Each three times; the halves of a shuffled heap at once. */
async function storm(processes: readonly LedgerProcess[], orders: readonly LedgerOrder[]): Promise<number> {
  const heap = [...orders, ...orders, ...orders]
    .map(order => ({ order, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ order }) => order)
  const half = Math.ceil(heap.length / 2)
  const failed = await Promise.all(
    processes.map((process, index) => process.order(heap.slice(index * half, (index + 1) * half))),
  )
  return failed.reduce((sum, one) => sum + one, 0)
}

async function differences(
  { sql }: Awaited<ReturnType<typeof ledgerFixture>>['database'],
  payers: readonly Payer[],
  exchanges: readonly Exchange[],
): Promise<number> {
  const rows = await sql<{ account_id: bigint; debits: bigint; pending: bigint }[]>`
    select account_id, debits, pending from wallet`
  const wallets = new Map(rows.map(row => [Number(row.account_id), row]))
  return payers.filter(({ accountId }) => {
    const due = exchanges.reduce((sum, one) => (one.accountId === accountId ? sum + one.costNano : sum), 0n)
    const wallet = wallets.get(accountId)
    return wallet?.debits !== due || wallet.pending !== 0n
  }).length
}
