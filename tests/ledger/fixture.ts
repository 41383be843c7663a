import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPayer, type Payer as PayerWithKey } from '#tests/support/gateway/payer.ts'
import { type TestDatabase, testDatabase } from '#tests/support/stores/database.ts'
import type { SpendCap } from '@/accounts/account.ts'
import { type KeyStore, keyStore } from '@/accounts/key-store.ts'
import { type AccountStore, accountStore } from '@/accounts/store.ts'
import { type Clock, systemClock } from '@/clock/clock.ts'
import { connect } from '@/db/connect.ts'
import { type Ledger, type LedgerOptions, openLedger } from '@/ledger/ledger.ts'
import { reap } from '@/ledger/reaper.ts'
import { hashCode, mintCode } from '@/ledger/redeem-code.ts'
import { createCodes, type LedgerStore, ledgerStore } from '@/ledger/store.ts'
import { TIMINGS } from '@/ledger/timings.ts'
import type {
  CodeTerms,
  ExtendRequest,
  HoldRequest,
  HoldResult,
  Reaped,
  Redeemed,
  Settlement,
  SettleResult,
} from '@/ledger/types.ts'
import { createLog } from '@/telemetry/log.ts'

/** Nothing happens by itself: a test calls `beat` and `maintain`. Deadlines still pass. */
const stillClock: Clock = { ...systemClock, every: () => () => undefined }

export const newId = () => Bun.randomUUIDv7()
export const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes))

/** Who pays, as the ledger knows them. */
export type Payer = Pick<PayerWithKey, 'accountId' | 'keyId'>

export interface LedgerFixture {
  database: TestDatabase
  /** Holds the journals; removed at the end. */
  directory: string
  /** A process of its own: writers, connections, journal. */
  open(options?: Partial<LedgerOptions>): Promise<Ledger>
  /** Settles what nobody answers for, as a process does with its heartbeat when it has been there for ten seconds. */
  reap(): Promise<Reaped[]>
  /** An account that paid so much, with one key. */
  payer(creditNano: bigint, options?: { onTrial?: boolean; cap?: SpendCap }): Promise<Payer>
  key(accountId: number, cap?: SpendCap): Promise<number>
  accounts: AccountStore
  keys: KeyStore
  /** The books, as the command line and the console use them. */
  store: LedgerStore
  /** Makes so many redeem codes; one, unless said. */
  codes(terms: CodeTerms, count?: number): Promise<string[]>
  /** Redeems what somebody typed. */
  redeem(typedCode: string, accountId: number): Promise<Redeemed>
  close(): Promise<void>
}

export async function ledgerFixture(): Promise<LedgerFixture> {
  const database = await testDatabase()
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-ledger-'))
  const keys = keyStore(database)
  const store = ledgerStore(database)
  const log = createLog({ level: 'silent', format: 'json' }, { write: () => undefined })
  const opened: Ledger[] = []

  async function key(accountId: number, cap?: SpendCap): Promise<number> {
    return (await keys.createKey({ accountId, name: '', cap })).id
  }

  return {
    database,
    directory,
    accounts: accountStore(database),
    keys,
    store,
    key,
    reap: () => reap(store, TIMINGS.deadAfterMs),
    async open(options = {}) {
      const ledger = await openLedger({
        databaseUrl: database.url,
        journalDirectory: directory,
        address: 'test',
        clock: stillClock,
        log,
        ...options,
        timings: { adoptionPatienceMs: 60_000, ...options.timings },
      })
      opened.push(ledger)
      return ledger
    },
    async payer(creditNano, options = {}) {
      const { accountId, keyId } = await openPayer(database, { creditNano, ...options })
      return { accountId, keyId }
    },
    async codes(terms, count = 1) {
      const codes = Array.from({ length: count }, mintCode)
      await createCodes(database.sql, codes.map(hashCode), terms)
      return codes
    },
    redeem: (typedCode, accountId) => store.redeem(newId(), hashCode(typedCode), accountId),
    async close() {
      for (const ledger of opened) await ledger.close()
      await database.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

export function holdOf(payer: Payer, amountNano: bigint, id = newId()): HoldRequest {
  return { ...payer, id, amountNano, priceVersion: 1, lifetimeMs: 600_000 }
}

/** So much in all for a hold that is there. Without what only a hold has: a ledger goes by that. */
export function moreOf({ id, accountId, keyId }: HoldRequest, amountNano: bigint): ExtendRequest {
  return { id, accountId, keyId, amountNano }
}

export function costOf({ id, accountId, keyId }: Payer & { id: string }, costNano: bigint): Settlement {
  return { id, accountId, keyId, costNano, costPico: costNano * 1000n }
}

/** `granted`, or why not. */
export function verdict(result: HoldResult): string {
  return result.granted ? 'granted' : result.reason
}

/** What became of settlements, each of which the database takes. */
export function taken(results: readonly (SettleResult | Error)[]): SettleResult[] {
  return results.map(result => {
    if (result instanceof Error) throw result
    return result
  })
}

/** The month as it is after nothing ran for long: nobody made what holds its entries. Before there are any. */
export async function forgetMonth({ sql }: TestDatabase): Promise<void> {
  const [row] = await sql<
    { name: string }[]
  >`select to_char(now() at time zone 'UTC', '"entry_"YYYY_MM') as name`
  const month = sql(row?.name ?? '')
  await sql`alter table entry detach partition ${month}`
  await sql`drop table ${month}`
}

/** Takes the database away from every ledger, as if it were down, until the returned function is called. */
export async function cutOff({ url }: TestDatabase): Promise<() => Promise<void>> {
  const address = new URL(url)
  const name = address.pathname.slice(1)
  address.pathname = '/postgres'
  const { sql, close } = connect(address.href, { max: 1 })
  await sql`alter database ${sql(name)} allow_connections false`
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = ${name} and application_name = 'tollgate ledger'`
  return async () => {
    await sql`alter database ${sql(name)} allow_connections true`
    await close()
  }
}
