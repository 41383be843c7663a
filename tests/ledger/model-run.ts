import fc from 'fast-check'
import { reap } from '@/ledger/reaper.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { type LedgerFixture, newId, random } from './fixture.ts'
import { ledgerCommands, newModel, type Real } from './model.ts'

export interface ModelRun {
  sequences: number
  commandsPerSequence: number
  /** Repeats a run; undefined: a new one each time, which fast-check prints if it fails. */
  seed?: number
}

/**
 * Runs random commands on the model and on a ledger, and returns how many that were; throws with the shortest sequence
 * on which they differ.
 */
export async function runModel(fixture: LedgerFixture, run: ModelRun): Promise<number> {
  let count = 0
  await fc.assert(
    fc.asyncProperty(ledgerCommands(run.commandsPerSequence), async commands => {
      const setup = await prepare(fixture)
      await fc.asyncModelRun(() => setup, commands)
      count += setup.real.steps
    }),
    {
      numRuns: run.sequences,
      endOnFailure: false,
      ...(run.seed === undefined ? {} : { seed: run.seed }),
    },
  )
  await settleLeftovers(fixture)
  return count
}

/** The processes of the sequences are gone; what they left open is anybody's to settle. */
async function settleLeftovers({ database }: LedgerFixture): Promise<void> {
  await database.sql`update process set seen = '-infinity'`
  await reap(ledgerStore(database), 0)
}

const CREDIT = 200n
const CAP = 150n

/** Two accounts, three keys, one of them with a cap; two processes. */
async function prepare(fixture: LedgerFixture) {
  const { sql } = fixture.database
  const one = await fixture.payer(CREDIT)
  const other = await fixture.payer(CREDIT)
  const capped = await fixture.key(one.accountId, { amountNano: CAP, period: 'total' })
  const codeHashes = [random(32), random(32)]
  const store = ledgerStore(fixture.database)
  const owners = [newId(), newId()]
  for (const owner of owners) await store.register(owner, 'model')
  for (const [index, hash] of codeHashes.entries()) {
    await store.createCodes([hash], { amountNano: 30n, uses: index + 1 })
  }
  const accountIds = [one.accountId, other.accountId]
  const real: Real = {
    store,
    accountIds,
    keyIds: [one.keyId, capped, other.keyId],
    owners,
    codeHashes,
    steps: 0,
    newId,
    async setSuspended(account, suspended) {
      const status = suspended ? 'suspended' : 'active'
      await sql`update account set status = ${status} where id = ${accountIds[account] ?? 0}`
    },
    async expireHold(id) {
      await sql`update hold set deadline = '-infinity' where id = ${id}`
    },
    async kill(owner) {
      await sql`update process set seen = now() - interval '1 day' where id = ${owner}`
    },
    async passTime(account) {
      await sql`update ledger_grant set expires_at = now() - interval '1 second'
        where account_id = ${accountIds[account] ?? 0} and expires_at > now()`
    },
    async readWallets() {
      const rows = await sql<{ wallet: string }[]>`
        select credits || '/' || debits || '/' || pending as wallet from wallet
        where account_id in ${sql(accountIds)} order by account_id`
      return rows.map(({ wallet }) => wallet)
    },
    async readBudgets() {
      const [row] = await sql<{ budget: string }[]>`
        select spent || '/' || pending as budget from key_budget where key_id = ${capped}`
      return [row?.budget ?? '0/0']
    },
  }
  const model = newModel({
    credits: [CREDIT, CREDIT],
    keys: [
      { account: 0, cap: undefined, spent: 0n, pending: 0n },
      { account: 0, cap: CAP, spent: 0n, pending: 0n },
      { account: 1, cap: undefined, spent: 0n, pending: 0n },
    ],
    codes: codeHashes.map((_, index) => ({ amount: 30n, left: index + 1, usedBy: new Set<number>() })),
  })
  return { model, real }
}
