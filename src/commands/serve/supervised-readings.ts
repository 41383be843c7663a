import type { Clock } from '@/clock/clock.ts'
import type { Readings } from '@/console/deployment.ts'
import { openRedis } from '@/redis/redis.ts'
import { Health } from '@/routing/health/health.ts'
import { redisSharing } from '@/routing/health/redis-sharing.ts'
import type { Log } from '@/telemetry/log.ts'

/** Readings that listen to Redis until they are closed. */
interface SupervisedReadings extends Readings {
  close(): Promise<void>
}

const PING_MS = 5_000

/** What a supervisor, which serves no requests itself, can show: the breakers that its workers tell each other of. */
export function supervisedReadings(redisUrl: string, clock: Clock, log: Log): SupervisedReadings {
  const onError = (error: Error) => log.debug({ err: error }, 'redis')
  const redis = openRedis(redisUrl, { onError })
  const sharing = redisSharing({ url: redisUrl, redis, origin: crypto.randomUUID(), onError })
  const health = new Health({ clock, random: Math.random, sharing })
  let answers = false
  const ask = () => {
    void redis.ping().then(ok => {
      answers = ok
    })
  }
  void redis.whenReady(PING_MS).then(ask)
  const stop = clock.every(PING_MS, ask)
  return {
    ledger: () => undefined,
    channels: channels => health.state(channels),
    redis: () => (answers ? 'ok' : 'away'),
    async close() {
      stop()
      await sharing.close()
      await redis.close()
    },
  }
}
