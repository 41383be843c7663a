import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { insist } from '#tests/support/insist.ts'
import { childrenOf, signalAll } from '#tests/support/processes.ts'
import { SECRET } from '#tests/support/secret.ts'
import type { SpendCap } from '@/accounts/account.ts'
import { keyStore } from '@/accounts/key-store.ts'
import { connect, type Database } from '@/db/connect.ts'
import { openEmbedded } from '@/db/embedded.ts'
import { migrate } from '@/db/migrate.ts'
import { findPostmaster } from '@/db/postmaster.ts'
import { type AuditReport, audit } from '@/ledger/audit.ts'
import { openPayer, type Payer } from './payer.ts'
import { type ServerProcess, spawnServer } from './serve-process.ts'

/** Several `tollgate serve` on one Postgres, as an operator runs them, for tests that break something. */
export interface Fleet {
  database: Database
  gateways: ServerProcess[]
  /** An account that paid so much, with one key. */
  payer(creditNano: bigint, options?: { cap?: SpendCap }): Promise<Payer>
  revokeKey(keyId: number): Promise<void>
  /** Those that are not dead. */
  running(): ServerProcess[]
  /** Kills a gateway with -9, unless said, and starts another in its directory: its file and what is in its journal are found again. */
  kill(index: number, signal?: NodeJS.Signals): { dead: Promise<unknown>; replaced: Promise<void> }
  /** Ends Postgres as a power cut would. It comes back by itself. */
  crashPostgres(): void
  /** Stops it in its tracks; connections stay, nothing is answered. Returns what lets it go on. */
  pausePostgres(): () => void
  /** Makes processes that have missed a heartbeat look dead for long. */
  buryDead(): Promise<void>
  /** Every question of the audit, asked as if an hour had passed: none is too young to be asked. */
  audit(): Promise<AuditReport>
  /** Holds that are open. */
  holds(): Promise<number>
  /** What each request was charged, in nano; those that were not are missing. */
  charged(): Promise<ReadonlyMap<string, bigint>>
  close(): Promise<void>
}

interface FleetOptions {
  gateways: number
  /** Where the one channel goes, and the prices of the one model, `m`, as a YAML flow map; or a whole tollgate.yaml. */
  upstreamUrl?: string
  prices?: string
  config?: string
  env?: Record<string, string>
  /** Of the first gateway; made if absent. */
  dataDir?: string
}

/** A Postgres of its own, since it may be crashed; never the one of DATABASE_URL. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const directory = mkdtempSync(join(tmpdir(), 'tollgate-fleet-'))
  const postgres = await openEmbedded({ dataDir: directory, role: 'serve' })
  await migrate(postgres.url)
  const database = connect(postgres.url, { max: 4 })
  const keys = keyStore(database)
  const spawn = (more: { dataDir?: string; config?: string }) =>
    spawnServer({
      env: {
        DATABASE_URL: postgres.url,
        TOLLGATE_SECRET: SECRET,
        SHUTDOWN_GRACE_MS: '5000',
        LOG_LEVEL: 'warn',
        ...options.env,
      },
      ...more,
    })
  const gateways: ServerProcess[] = []
  const down = new Set<ServerProcess>()
  for (let index = 0; index < options.gateways; index += 1) {
    const given = index === 0 && options.dataDir !== undefined ? { dataDir: options.dataDir } : {}
    gateways.push(await spawn({ config: options.config ?? configOf(options), ...given }))
  }
  return {
    database,
    gateways,
    payer: (creditNano, options = {}) => openPayer(database, { creditNano, ...options }),
    async revokeKey(keyId) {
      await keys.revokeKey(keyId)
    },
    running: () => gateways.filter(gateway => !down.has(gateway)),
    kill(index, signal = 'SIGKILL') {
      const gateway = gateways[index]
      if (gateway === undefined) throw new Error(`there is no gateway ${index}`)
      down.add(gateway)
      gateway.kill(signal)
      const replace = async () => {
        await gateway.exited
        gateways[index] = await insist(() => spawn({ dataDir: gateway.dataDir }), { tries: 20, pauseMs: 500 })
      }
      return { dead: gateway.exited, replaced: replace() }
    },
    crashPostgres() {
      const pid = findPostmaster(join(directory, 'postgres'))
      if (pid !== undefined) process.kill(pid, 'SIGQUIT')
    },
    pausePostgres() {
      const pid = findPostmaster(join(directory, 'postgres'))
      const paused = pid === undefined ? [] : [pid, ...childrenOf(pid)]
      signalAll(paused, 'SIGSTOP')
      return () => signalAll(paused, 'SIGCONT')
    },
    async buryDead() {
      await database.sql`update process set seen = '-infinity' where seen < now() - interval '4 seconds'`
    },
    async audit() {
      await database.sql`update exchange set started_at = started_at - interval '1 hour'`
      return audit(postgres.url)
    },
    async holds() {
      const [row] = await database.sql<{ count: bigint }[]>`select count(*) as count from hold`
      return Number(row?.count ?? 0n)
    },
    async charged() {
      const rows = await database.sql<{ id: string; nano: bigint }[]>`
        select id, -sum(amount)::bigint as nano from entry where kind in ('usage', 'usage_trueup') group by id`
      return new Map(rows.map(({ id, nano }) => [id, nano]))
    },
    async close() {
      await Promise.all(gateways.map(gateway => gateway.close()))
      await database.close()
      await postgres.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** No test but one of limits should meet any. */
export const AMPLE_LIMITS =
  '{ requests_per_minute: 10000000, tokens_per_minute: 10000000000, concurrent_requests: 100000 }'

function configOf({ upstreamUrl = '', prices = '' }: FleetOptions): string {
  return `channels:
  - { name: main, format: openai-chat-completions, base_url: "${upstreamUrl}", api_keys: ["upstream-secret-key"], allow_private: true }
models:
  - { id: m, channels: [{ channel: main, model: m }], prices: ${prices} }
limits:
  account: ${AMPLE_LIMITS}
  key: ${AMPLE_LIMITS}
`
}
