import type { Clock } from '@/clock/clock.ts'
import type { Log } from '@/telemetry/log.ts'

/** Longer than the first start of the embedded database, and than an address takes that leads nowhere. */
const SLOW_MS = 20_000

/**
 * Says once that the start takes long, unless the returned function is called before: what it waits for (a pooler without
 * room, the lock of another process that migrates) mostly says nothing itself.
 */
export function tellOfSlowStart(log: Pick<Log, 'warn'>, clock: Pick<Clock, 'after'>): () => void {
  return clock.after(SLOW_MS, () => log.warn(WAITING))
}

const WAITING =
  `still starting after ${SLOW_MS / 1_000} s: the machine is busy, the schema is being brought up to date, or the database has no connection left ` +
  '(a pooler needs room for some 20 of each process)'
