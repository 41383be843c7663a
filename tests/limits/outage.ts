import { connectRedis, type RedisServer, startRedisServer } from '#tests/support/stores/redis.ts'
import { systemClock } from '@/clock/clock.ts'
import { type Limiter, openLimiter } from '@/limits/limiter.ts'
import { openRedis, redisScript } from '@/redis/redis.ts'
import { ask } from './limited.ts'

/**
 * What happens to Redis: its process dies and comes back empty; all its keys go; it stops answering for a while; it is a
 * replica for a while, which answers and takes no writes.
 */
export const OUTAGES = ['kill', 'flush', 'pause', 'demote'] as const
export type Outage = (typeof OUTAGES)[number]

interface OutageOptions {
  /** Gateways, each with a connection, a circuit and buckets of its own. */
  gateways: number
  /** Callers of each gateway, who never wait. */
  callers: number
  limitPerMinute: number
  beforeMs: number
  awayMs: number
  afterMs: number
  /** Most time that a command of a gateway may take; undefined: as in a deployment. */
  commandTimeoutMs?: number
}

interface OutageReport {
  asked: number
  admitted: number
  /** Limit x time + 2 bursts. */
  bound: number
  /** Takes, adjustments or releases that threw. */
  failed: number
  /** Longest that anybody waited for a decision. */
  slowestMs: number
  /** Longest that the machine kept this process from running: no decision can be quicker. */
  stalledMs: number
  /** From the return of Redis until every gateway counted there again. */
  backAfterMs: number
  /** Slots that Redis still holds when all requests are over. */
  leaked: number
}

const STALL_TICK_MS = 5

/** Load on several gateways while something happens to their Redis. */
export async function runOutage(outage: Outage, options: OutageOptions): Promise<OutageReport> {
  const { commandTimeoutMs } = options
  const server = await startRedisServer()
  const links = Array.from({ length: options.gateways }, () =>
    openRedis(server.url, commandTimeoutMs === undefined ? {} : { commandTimeoutMs }),
  )
  const gateways = await Promise.all(
    links.map(redis =>
      openLimiter({
        redis,
        clock: systemClock,
        log: { info: () => {}, warn: () => {} },
        processes: () => options.gateways,
        namespace: '',
      }),
    ),
  )
  try {
    return await measure(server, gateways, outage, options)
  } finally {
    await Promise.all(gateways.map(gateway => gateway.close()))
    await Promise.all(links.map(redis => redis.close()))
    await server.close()
  }
}

async function measure(
  server: RedisServer,
  gateways: readonly Limiter[],
  outage: Outage,
  options: OutageOptions,
): Promise<OutageReport> {
  const counts = { asked: 0, admitted: 0, failed: 0, slowestMs: 0 }
  const start = performance.now()
  const stall = watchStalls()
  let running = true
  const callers = gateways.flatMap(gateway =>
    Array.from({ length: options.callers }, () =>
      call(gateway, options.limitPerMinute, counts, () => running),
    ),
  )
  await Bun.sleep(options.beforeMs)
  // A second burst is what an outage may give: it comes when the first is gone.
  while (counts.admitted < options.limitPerMinute) await Bun.sleep(5)
  await strike(server, outage, options.awayMs)
  const back = performance.now()
  while (gateways.some(gateway => gateway.isDegraded)) await Bun.sleep(5)
  const backAfterMs = performance.now() - back
  await Bun.sleep(options.afterMs)
  running = false
  await Promise.all(callers)
  const stalledMs = stall.stop()
  const minutes = (performance.now() - start) / 60_000
  const leaked = await slotsInRedis(server, gateways)
  const bound = Math.floor(options.limitPerMinute * minutes) + 2 * options.limitPerMinute
  return { ...counts, bound, stalledMs, backAfterMs, leaked }
}

function watchStalls(): { stop(): number } {
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last - STALL_TICK_MS)
    last = now
  }, STALL_TICK_MS)
  return {
    stop() {
      clearInterval(timer)
      return longest
    },
  }
}

/** Lets it happen, and resolves when Redis is there again. */
export async function strike(server: RedisServer, outage: Outage, awayMs: number): Promise<void> {
  switch (outage) {
    case 'flush':
      return server.flush()
    case 'pause':
      server.pause()
      await Bun.sleep(awayMs)
      return server.resume()
    case 'demote':
      await server.demote()
      await Bun.sleep(awayMs)
      return server.promote()
    case 'kill':
      await server.kill()
      await Bun.sleep(awayMs)
      return server.restart()
  }
}

/** Takes, uses less than it said, and gives back; again and again. */
async function call(
  gateway: Limiter,
  limitPerMinute: number,
  counts: { asked: number; admitted: number; failed: number; slowestMs: number },
  running: () => boolean,
): Promise<void> {
  const limits = {
    requestsPerMinute: limitPerMinute,
    tokensPerMinute: limitPerMinute * 1_000,
    concurrentRequests: 1_000,
  }
  while (running()) {
    const start = performance.now()
    counts.asked++
    try {
      const answer = await gateway.take(ask({ tokens: 10, accountLimits: limits }))
      counts.slowestMs = Math.max(counts.slowestMs, performance.now() - start)
      if (answer.allowed) {
        counts.admitted++
        await gateway.end(answer.lease, 8)
      }
    } catch {
      counts.failed++
    }
    await Bun.sleep(5)
  }
}

/** What was freed while Redis was away is freed there when it is back: that may be a moment later. */
async function slotsInRedis(server: RedisServer, gateways: readonly Limiter[]): Promise<number> {
  const redis = await connectRedis(server.url)
  const count = redisScript("return redis.call('ZCARD', KEYS[1])")
  const deadline = performance.now() + 30_000
  for (;;) {
    await Promise.all(gateways.map(gateway => gateway.renewAll()))
    const held = Number(await redis.run(count, ['cc:{a1}'], []))
    if (held > 0 && performance.now() < deadline) continue
    await redis.close()
    return held
  }
}
