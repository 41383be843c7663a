import type { Clock } from '@/clock/clock.ts'
import { within } from '@/clock/wait.ts'
import type { Database } from '@/db/connect.ts'
import type { ApiGateway } from '@/surfaces/api-host.ts'

/** Why a balancer should send work elsewhere; undefined: it need not. */
export async function unreadiness(
  gateway: Pick<ApiGateway, 'draining' | 'ledger' | 'clock'>,
  database: Pick<Database, 'sql'>,
): Promise<string | undefined> {
  if (gateway.draining) return 'shutting down'
  if (!(await answersInTime(database, gateway.clock))) return 'the database does not answer'
  const { healthy, holdFailureAgoMs, journal } = gateway.ledger.state()
  // A database may answer and take no hold: its disk is full, or it has become a copy of another.
  const takesHolds = holdFailureAgoMs === undefined || holdFailureAgoMs > FAILED_MS
  if (healthy && takesHolds) return undefined
  return journal === 'full' ? 'the journal cannot be written' : 'billing is unavailable'
}

/** For how long a failure is held against the ledger. While nobody asks it, nothing else tells that it works again. */
const FAILED_MS = 3_000

/** A database that hangs is told of sooner than its statements give up, and within the time in which a supervisor asks. */
const PROBE_MS = 1_500

async function answersInTime({ sql }: Pick<Database, 'sql'>, clock: Clock): Promise<boolean> {
  const answered = sql`select 1`.then(
    () => true,
    () => false,
  )
  return (await within(PROBE_MS, answered, clock)) ?? false
}
