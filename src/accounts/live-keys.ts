import type { Clock } from '@/clock/clock.ts'
import type { Database } from '@/db/connect.ts'
import { guardOf } from '@/db/guard.ts'
import { inTime } from '@/db/in-time.ts'
import { openListener } from '@/db/listener.ts'
import type { Log } from '@/telemetry/log.ts'
import { type Authentication, authenticator } from './authenticate.ts'
import { keyCache } from './key-cache.ts'
import { KEYS_CHANNEL } from './key-changes.ts'
import { keyStore } from './key-store.ts'

/** How soon a key's use is noted: whoever has just tried one looks whether it was used. */
const NOTE_USE_MS = 5_000
/** How new a key's time of last use is kept: one that is used all the time is written once in so long. */
const KEEP_USE_MS = 60_000
/** A look-up without an answer for so long is on a connection that is dead. */
const SILENCE_MS = 6_000

/** What the keys of a process are read from and timed by. */
interface LiveKeysOptions {
  database: Database
  clock: Clock
  /** Numbers in [0, 1). */
  random: () => number
  log: Log
}

/**
 * The keys of a running server: as new as the database, and it knows when each was last used. Fails if the database
 * cannot be listened to.
 */
export async function openLiveKeys({ database, clock, random, log }: LiveKeysOptions) {
  const keys = keyStore(database)
  const guard = guardOf(database, { clock, silenceMs: SILENCE_MS })
  const cache = keyCache({
    load: hash =>
      inTime(
        guard(() => keys.findKey(Buffer.from(hash, 'hex'))),
        clock,
      ),
    clock,
    random,
  })
  const listener = await openListener(database.url, {
    channel: KEYS_CHANNEL,
    onMessage: cache.onMessage,
    onConnect: cache.onConnect,
    onLost: cache.onLost,
  })
  /** Noted since the last minute began, or to be noted. */
  const used = new Set<number>()
  const unnoted: number[] = []
  const noteUse = async () => {
    const ids = unnoted.splice(0)
    await keys.touchKeys(ids).catch(error => log.warn({ err: error }, 'the use of keys could not be noted'))
  }
  const stopNoting = clock.every(NOTE_USE_MS, () => void noteUse())
  const stopKeeping = clock.every(KEEP_USE_MS, () => used.clear())
  const authenticate = authenticator(cache, clock.now)
  const note = (answer: Authentication) => {
    if (answer.ok && !used.has(answer.caller.keyId)) {
      used.add(answer.caller.keyId)
      unnoted.push(answer.caller.keyId)
    }
    return answer
  }
  return {
    authenticate(presented: string): Authentication | Promise<Authentication> {
      const answer = authenticate(presented)
      return answer instanceof Promise ? answer.then(note) : note(answer)
    },
    async close() {
      stopNoting()
      stopKeeping()
      await noteUse()
      await listener.close()
    },
  }
}
