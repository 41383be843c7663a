import { asNumber, asObject, asString, parseObject } from '@/json/json.ts'
import { type RedisConnection, redisScript } from '@/redis/redis.ts'
import { openSubscription } from '@/redis/subscription.ts'
import type { Cause } from './breaker.ts'
import type { BreakerOpening, HealthSharing } from './sharing.ts'

/** By which Redis processes tell one another, and under which names. */
interface RedisSharingOptions {
  url: string
  /** Where openings are published from. */
  redis: RedisConnection
  /** Tells this process's messages from the others'. */
  origin: string
  /** Keeps deployments on one Redis apart. */
  namespace?: string | undefined
  /** Something was not sent or not received; the next opening may be. */
  onError?: (error: Error) => void
}

/** The openings of all processes on one Redis. */
interface RedisSharing extends HealthSharing {
  /** Resolves once the openings of others arrive. */
  listening: Promise<void>
}

/** As a script, so that it takes the connection, the pipelining and the time limit that all of Redis' work has. */
const PUBLISH = redisScript("return redis.call('PUBLISH', ARGV[1], ARGV[2])")

/** The longest reason that travels. */
const MAX_REASON = 300

/** Shares openings over Redis' publish and subscribe: nothing is stored, so nothing can be stale. */
export function redisSharing(options: RedisSharingOptions): RedisSharing {
  const { url, redis, origin, namespace = '', onError = () => {} } = options
  const topic = `${namespace}tollgate:health`
  const listeners: ((opening: BreakerOpening) => void)[] = []
  const subscription = openSubscription(url, topic, {
    onError,
    onMessage: message => {
      const opening = readOpening(message, origin)
      if (opening !== undefined) for (const listener of listeners) listener(opening)
    },
  })
  return {
    listening: subscription.listening,
    publish(opening) {
      redis.run(PUBLISH, [], [topic, writeOpening(opening, origin)]).catch(onError)
    },
    subscribe: listener => {
      listeners.push(listener)
    },
    close: async () => subscription.close(),
  }
}

/** A pause and not a moment: clocks differ, and a message takes no time worth counting. */
function writeOpening(
  { channelId, key, model, cause, pauseMs, reason }: BreakerOpening,
  origin: string,
): string {
  return JSON.stringify({
    origin,
    channel: channelId,
    key: key && (key.id ?? null),
    model,
    cause,
    pauseMs,
    reason: reason.slice(0, MAX_REASON),
  })
}

/** Undefined for what we said ourselves, and for what another release says that this one does not understand. */
function readOpening(message: string, origin: string): BreakerOpening | undefined {
  const told = asObject(parseObject(message)) ?? {}
  const channelId = asNumber(told['channel'])
  const pauseMs = asNumber(told['pauseMs'])
  const cause = CAUSES.find(name => name === told['cause'])
  if (told['origin'] === origin || channelId === undefined || pauseMs === undefined || cause === undefined) {
    return undefined
  }
  const key = told['key'] === undefined ? undefined : { id: asNumber(told['key']) }
  const model = asString(told['model'])
  return { channelId, key, model, cause, pauseMs, reason: asString(told['reason']) ?? '' }
}

const CAUSES = ['failing', 'rate-limited', 'refused'] as const satisfies readonly Cause[]
