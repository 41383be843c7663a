import { ask } from '#tests/limits/limited.ts'
import { OUTAGES, runOutage } from '#tests/limits/outage.ts'
import { askFromProcesses } from '#tests/limits/processes.ts'
import { connectRedis, hasRedisServer, startRedisServer } from '#tests/support/redis.ts'
import { systemClock } from '@/clock/clock.ts'
import { openLimiter } from '@/limits/limiter.ts'

/** `bun run chaos limits [AWAY_SECONDS]`: limits under load while Redis dies, forgets and hangs. */
export async function run(args: readonly string[]): Promise<boolean> {
  if (!hasRedisServer) throw new Error('bun run chaos limits needs a redis-server on the PATH')
  const awayMs = Number(args[0] ?? 10) * 1_000
  const checks = [await tightest(), await processes(), await slots()]
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
  return checks.every(Boolean)
}

function told(line: string, holds: boolean): boolean {
  console.log(`${holds ? 'ok  ' : 'FAIL'} ${line}`)
  return holds
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
    await Promise.all(answers.map(answer => (answer.allowed ? limiter.release(answer.lease) : undefined)))
  }
  const again = await Promise.all(Array.from({ length: 200 }, () => limiter.take(ask(options))))
  const free = again.filter(({ allowed }) => allowed).length
  await close()
  return told(`10,000 aborted requests on 100 slots: ${free} free afterwards`, free === 100)
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
