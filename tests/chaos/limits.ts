import { isDeepStrictEqual } from 'node:util'
import { playOnBoth } from '#tests/limits/buckets/trace.ts'
import { ask } from '#tests/limits/limited.ts'
import { OUTAGES, type Outage, runOutage, strike } from '#tests/limits/outage.ts'
import { askFromProcesses } from '#tests/limits/processes.ts'
import { type Fleet, startFleet } from '#tests/support/gateway/fleet.ts'
import { connectRedis, hasRedisServer, startRedisServer } from '#tests/support/stores/redis.ts'
import { told } from '#tests/support/told.ts'
import { scriptedUpstream } from '#tests/support/upstreams/upstream.ts'
import { systemClock } from '@/clock/clock.ts'
import { openLimiter } from '@/limits/limiter.ts'

/** `bun run chaos limits [AWAY_SECONDS]`: limits under load while Redis dies, forgets and hangs. */
export async function run(args: readonly string[]): Promise<boolean> {
  if (!hasRedisServer) throw new Error('bun run chaos limits needs a redis-server on the PATH')
  const awayMs = Number(args[0] ?? 10) * 1_000
  const checks = [await tightest(), await processes(), await slots(), await traces()]
  for (const outage of OUTAGES) {
    const limitPerMinute = 3_000
    const load = { gateways: 4, callers: 25, limitPerMinute, beforeMs: 3_000, awayMs, afterMs: 3_000 }
    const report = await runOutage(outage, load)
    const { asked, admitted, bound, failed, slowestMs, stalledMs, backAfterMs, leaked } = report
    checks.push(
      told(
        `${outage}: ${admitted} of ${asked} requests admitted, bound ${bound}, ${failed} failed, ${leaked} slots leaked; ` +
          `longest decision ${slowestMs.toFixed(0)} ms (the machine stalled for ${stalledMs.toFixed(0)} ms), back ${backAfterMs.toFixed(0)} ms after Redis`,
        admitted <= bound &&
          failed === 0 &&
          leaked === 0 &&
          slowestMs <= 100 + stalledMs &&
          backAfterMs <= 1_000,
      ),
    )
  }
  for (const outage of OUTAGES) checks.push(await money(outage, Math.min(awayMs, 5_000)))
  return checks.every(Boolean)
}

async function tightest(): Promise<boolean> {
  const { limiter, close } = await open()
  const options = {
    keyLimits: { requestsPerMinute: 1_000_000 },
    accountLimits: { requestsPerMinute: 1_000_000, tokensPerMinute: 50_000_000, concurrentRequests: 777 },
  }
  const answers = await Promise.all(Array.from({ length: 10_000 }, () => limiter.take(ask(options))))
  const admitted = answers.filter(({ allowed }) => allowed).length
  await close()
  return told(`10,000 takes at once over 3 buckets and 777 slots: ${admitted} admitted`, admitted === 777)
}

async function processes(): Promise<boolean> {
  const server = await startRedisServer()
  const limit = 2_000
  const options = { processes: 4, takes: 3_000, limit }
  const { slots, rate, refilled } = await askFromProcesses(server.url, '', options)
  await server.close()
  return told(
    `4 processes, 3,000 takes each, ${limit} slots and ${limit} a minute: ${slots} and ${rate} admitted ` +
      `(${refilled.toFixed(0)} came back meanwhile)`,
    slots === limit && rate >= limit && rate <= limit + Math.ceil(refilled),
  )
}

async function slots(): Promise<boolean> {
  const { limiter, close } = await open()
  const options = { accountLimits: { concurrentRequests: 100 } }
  for (let aborted = 0; aborted < 10_000; aborted += 100) {
    const answers = await Promise.all(Array.from({ length: 100 }, () => limiter.take(ask(options))))
    await Promise.all(answers.map(answer => (answer.allowed ? limiter.end(answer.lease, 1) : undefined)))
  }
  const again = await Promise.all(Array.from({ length: 200 }, () => limiter.take(ask(options))))
  const free = again.filter(({ allowed }) => allowed).length
  await close()
  return told(`10,000 aborted requests on 100 slots: ${free} free afterwards`, free === 100)
}

async function traces(): Promise<boolean> {
  const server = await startRedisServer()
  const redis = await connectRedis(server.url)
  let steps = 0
  let differences = 0
  for (let seed = 1_000; seed < 1_100; seed++) {
    const { shared, local } = await playOnBoth(redis, seed, 1_000, `{s${seed}}:`)
    for (const [index, answer] of shared.entries()) {
      steps += 1
      if (!isDeepStrictEqual(answer, local[index])) differences += 1
    }
  }
  await redis.close()
  await server.close()
  return told(
    `${steps} random steps in Redis and in this process: ${differences} differences`,
    differences === 0,
  )
}

const ANSWER =
  '{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}'
const ANSWER_NANO = 19_000n

/** Whole gateways under load while something happens to their Redis: what callers get, and what is charged for it. */
async function money(outage: Outage, awayMs: number): Promise<boolean> {
  const server = await startRedisServer()
  const upstream = scriptedUpstream(() => new Response(ANSWER))
  const fleet = await startFleet({
    gateways: 2,
    upstreamUrl: upstream.url,
    prices: '{ input: 1, output: 2 }',
    env: { REDIS_URL: server.url },
  })
  const payer = await fleet.payer(10n ** 12n)
  await fleet.database.sql`update account set requests_per_minute = 3000 where id = ${payer.accountId}`
  const counts = { served: 0, limited: 0, failed: 0 }
  let running = true
  const caller = async (index: number) => {
    while (running) {
      const status = await callOnce(fleet.gateways[index % 2]?.apiUrl ?? '', payer.key)
      counts[status === 200 ? 'served' : status === 429 ? 'limited' : 'failed'] += 1
      await Bun.sleep(20)
    }
  }
  const callers = Array.from({ length: 20 }, (_, index) => caller(index))
  await Bun.sleep(2_000)
  await strike(server, outage, awayMs)
  await Bun.sleep(3_000)
  running = false
  await Promise.all(callers)
  const chargedNano = await settled(fleet, payer.accountId)
  const { ok } = await fleet.audit()
  const differenceNano = chargedNano - BigInt(counts.served) * ANSWER_NANO
  await fleet.close()
  await upstream.stop()
  await server.close()
  return told(
    `${outage} under whole gateways: ${counts.served} served, ${counts.limited} limited, ${counts.failed} failed; ` +
      `${differenceNano} nano between what was served and what was charged, audit ${ok ? 'green' : 'RED'}`,
    counts.failed === 0 && counts.served > 0 && differenceNano === 0n && ok,
  )
}

async function callOnce(apiUrl: string, key: string): Promise<number> {
  try {
    const response = await fetch(`${apiUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}',
    })
    await response.arrayBuffer()
    return response.status
  } catch {
    return 0
  }
}

/** What the account paid, once nothing is set aside any more. */
async function settled(fleet: Fleet, accountId: number): Promise<bigint> {
  const deadline = performance.now() + 10_000
  while ((await fleet.holds()) > 0 && performance.now() < deadline) await Bun.sleep(50)
  const [wallet] = await fleet.database.sql<{ debits: bigint }[]>`
    select debits from wallet where account_id = ${accountId}`
  return BigInt(wallet?.debits ?? 0n)
}

async function open() {
  const server = await startRedisServer()
  const redis = await connectRedis(server.url)
  const log = { info: () => {}, warn: () => {} }
  const limiter = await openLimiter({ redis, clock: systemClock, log, maxInFlight: 20_000 })
  const close = async () => {
    await limiter.close()
    await redis.close()
    await server.close()
  }
  return { limiter, close }
}
