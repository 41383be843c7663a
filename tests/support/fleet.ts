import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SpendCap } from '@/accounts/account.ts'
import { accountStore } from '@/accounts/store.ts'
import { connect, type Database } from '@/db/connect.ts'
import { openEmbedded } from '@/db/embedded.ts'
import { migrate } from '@/db/migrate.ts'
import { findPostmaster } from '@/db/postmaster.ts'
import { type AuditReport, audit } from '@/ledger/audit.ts'
import { type ServerProcess, spawnServer } from './process.ts'

export const SECRET = 'a secret for tests, long enough for everybody'

/** Several `tollgate serve` on one Postgres, as an operator runs them, for tests that break something. */
export interface Fleet {
  database: Database
  gateways: ServerProcess[]
  /** An account that paid so much, with one key. */
  payer(creditNano: bigint, options?: { cap?: SpendCap }): Promise<FleetPayer>
  revokeKey(keyId: number): Promise<void>
  /** Starts a gateway in the place of that one, in its directory: what is in its journal is found again. */
  replace(index: number): Promise<void>
  /** Ends Postgres as a power cut would. It comes back by itself. */
  crashPostgres(): void
  /** Every question of the audit, asked as if an hour had passed: none is too young to be asked. */
  audit(): Promise<AuditReport>
  /** Holds that are open. */
  holds(): Promise<number>
  close(): Promise<void>
}

export interface FleetPayer {
  accountId: number
  keyId: number
  key: string
}

export interface FleetOptions {
  gateways: number
  /** Where the one channel goes. */
  upstreamUrl: string
  /** The prices of the one model, `m`, as a YAML flow map. */
  prices: string
  env?: Record<string, string>
}

/** A Postgres of its own, since it may be crashed; never the one of DATABASE_URL. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-fleet-'))
  const postgres = await openEmbedded({ dataDir: directory, role: 'serve' })
  await migrate(postgres.url)
  const database = connect(postgres.url, { max: 4 })
  const accounts = accountStore(database, bytes => crypto.getRandomValues(new Uint8Array(bytes)))
  const spawn = (dataDir?: string) =>
    spawnServer({
      env: {
        DATABASE_URL: postgres.url,
        TOLLGATE_SECRET: SECRET,
        SHUTDOWN_GRACE_MS: '5000',
        LOG_LEVEL: 'warn',
        ...options.env,
      },
      config: configOf(options),
      ...(dataDir === undefined ? {} : { dataDir }),
    })
  const gateways: ServerProcess[] = []
  for (let index = 0; index < options.gateways; index += 1) gateways.push(await spawn())
  return {
    database,
    gateways,
    async payer(creditNano, { cap } = {}) {
      const email = `${crypto.randomUUID()}@example.com`
      const { id } = await accounts.createAccount({ email, creditNano, onTrial: false, models: [] })
      const plain = { name: '', models: undefined, expiresAt: undefined, allowIps: undefined }
      const created = await accounts.createKey({ accountId: id, ...plain, cap })
      return { accountId: id, keyId: created.id, key: created.key }
    },
    async revokeKey(keyId) {
      await accounts.revokeKey(keyId)
    },
    async replace(index) {
      gateways[index] = await spawn(gateways[index]?.dataDir)
    },
    crashPostgres() {
      const pid = findPostmaster(join(directory, 'postgres'))
      if (pid !== undefined) process.kill(pid, 'SIGQUIT')
    },
    async audit() {
      await database.sql`update exchange set started_at = started_at - interval '1 hour'`
      return audit(postgres.url)
    },
    async holds() {
      const [row] = await database.sql<{ count: bigint }[]>`select count(*) as count from hold`
      return Number(row?.count ?? 0n)
    },
    async close() {
      await Promise.all(gateways.map(gateway => gateway.close()))
      await database.close()
      await postgres.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

const LIMITS =
  '{ requests_per_minute: 10000000, tokens_per_minute: 10000000000, concurrent_requests: 100000 }'

function configOf({ upstreamUrl, prices }: FleetOptions): string {
  return `channels:
  - { name: main, format: openai-chat-completions, base_url: "${upstreamUrl}", api_keys: ["upstream-secret-key"], allow_private: true }
models:
  - { id: m, channels: [{ channel: main, model: m }], prices: ${prices} }
limits:
  account: ${LIMITS}
  key: ${LIMITS}
`
}
