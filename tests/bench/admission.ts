import { openPayer } from '#tests/support/gateway/payer.ts'
import { testDatabase } from '#tests/support/stores/database.ts'
import { connectRedis, openTestRedis } from '#tests/support/stores/redis.ts'
import { systemClock } from '@/clock/clock.ts'
import { openLedger } from '@/ledger/ledger.ts'
import { openLimiter } from '@/limits/limiter.ts'
import type { LimitedRequest } from '@/limits/plan.ts'
import { createLog } from '@/telemetry/log.ts'

/** Something that has to be closed when it was measured. */
export interface Measured {
  name: string
  step: () => Promise<unknown>
  close: () => Promise<void>
}

const log = createLog({ level: 'silent', format: 'json' }, { write: () => undefined })
const AMPLE = {
  requestsPerMinute: 1_000_000_000,
  tokensPerMinute: 1_000_000_000_000,
  concurrentRequests: 1_000_000,
}
const CALLER = { accountId: 1, keyId: 1, accountLimits: AMPLE, keyLimits: AMPLE }
const DEFAULTS = { account: AMPLE, key: AMPLE }

/** Six buckets and leases, taken and ended: in this process, and on Redis where there is one. */
export async function bucketTakes(): Promise<Measured[]> {
  const here = await openLimiter({ redis: undefined, clock: systemClock, log })
  const takes: Measured[] = [
    { name: 'limits in the process, take and end', step: take(here), close: () => here.close() },
  ]
  const server = await openTestRedis()
  if (server === undefined) return takes
  const redis = await connectRedis(server.url)
  const shared = await openLimiter({ redis, clock: systemClock, log, namespace: server.namespace })
  const close = async () => {
    await shared.close()
    await redis.close()
    await server.close()
  }
  return [...takes, { name: 'limits on Redis, take and end', step: take(shared), close }]
}

function take(limiter: Awaited<ReturnType<typeof openLimiter>>): () => Promise<void> {
  return async () => {
    const request: LimitedRequest = {
      id: Bun.randomUUIDv7(),
      caller: CALLER,
      defaults: DEFAULTS,
      model: 'm',
      tokens: 500,
    }
    const answer = await limiter.take(request)
    if (!answer.allowed) throw new Error('the benchmark ran into a limit')
    await limiter.end(answer.lease, 400)
  }
}

/** Holds and settlements of one account, so many at once, on a database of their own. */
export async function ledgerCycles(sizes: readonly number[]): Promise<Measured[]> {
  const database = await testDatabase()
  // A commit is measured with its wait for the disk, which no test has.
  const name = new URL(database.url).pathname.slice(1)
  await database.sql.unsafe(`alter database "${name}" reset synchronous_commit`)
  const { accountId, keyId } = await openPayer(database)
  const ledger = await openLedger({
    databaseUrl: database.url,
    journalDirectory: undefined,
    address: 'bench',
    clock: systemClock,
    log,
  })
  const cycle = async () => {
    const exchange = { id: Bun.randomUUIDv7(), accountId, keyId }
    await ledger.hold({ ...exchange, amountNano: 1000n, priceVersion: 1, lifetimeMs: 60_000 })
    await ledger.settle({ ...exchange, costNano: 1n, costPico: 1n })
  }
  return sizes.map((size, index) => ({
    name: `ledger, hold and settle, ${size} at once on one account`,
    step: () => Promise.all(Array.from({ length: size }, cycle)),
    close: async () => {
      if (index < sizes.length - 1) return
      await ledger.close()
      await database.close()
    },
  }))
}
