import type { ISql } from 'postgres'
import type { Database } from '@/db/connect.ts'
import { deleteInPortions } from '@/db/in-portions.ts'
import type { RunState } from '@/db/schema.ts'

/** Which run a request asks for. */
export interface RunClaim {
  accountId: number
  /** The caller's Idempotency-Key. */
  key: string
  /** SHA-256 of what makes it this request (fingerprint.ts). */
  fingerprint: Uint8Array
}

/** Status and headers of an answer. */
export interface AnswerHead {
  status: number
  headers: Record<string, string>
}

/** A run as the database has it. */
export interface StoredRun {
  id: string
  fingerprint: Uint8Array
  state: RunState
  /** Undefined until the answer begins. */
  head: AnswerHead | undefined
  /** False: it runs no more, or it is dead. */
  alive: boolean
  /** Changes while its process lives and works: with each renewal, and with each stretch that it writes. */
  pulse: string
}

/** A stretch of an answer's body. */
export interface StoredChunk {
  seq: number
  /** Sealed. */
  content: Uint8Array
  /** Of the last one: how the body ended. */
  ending: 'closed' | 'broken' | undefined
}

/** How a run ends. */
export interface RunEnd {
  state: Exclude<RunState, 'running'>
  head: AnswerHead | undefined
  /** The last of its body; undefined where nobody may read it. */
  last: StoredChunk | undefined
}

/** A process that did not renew its runs for so long is dead, if it could have. */
export const LEASE_SECONDS = 10

const KEPT_HOURS = 24

/** What failed is kept for those who are reading it. */
const FAILED_SECONDS = 60

/** Chunks that a reader holds at once. */
const READ_AT_ONCE = 4

/**
 * The only SQL of idempotent requests. Time is the database's. A run is dead whose lease ran out by `knownTo`, until when
 * silence says something (clock/silence.ts).
 */
export type RunStore = ReturnType<typeof runStore>

/** The runs of all processes that share a database. */
export function runStore({ sql }: Pick<Database, 'sql'>) {
  const lease = () => sql`now() + make_interval(secs => ${LEASE_SECONDS})`
  // By `now()` alone all of them would have run out when the clock of the database is set forward.
  const dead = (knownTo: number) => sql`leased_until <= least(now(), to_timestamp(${knownTo / 1000}::float8))`
  const columns = (knownTo: number) =>
    sql`id, fingerprint, state, status, headers, state = 'running' and not ${dead(knownTo)} as alive,
      format('%s %s', leased_until, (select max(seq) from idempotent_chunk where run_id = id)) as pulse`
  return {
    /**
     * Begins a run under this id, or answers the one that has the key. A run that is dead or has failed gives the key away,
     * and so does one that is over and past its time. Undefined: the key was given away this moment; ask again.
     */
    async claim(
      id: string,
      { accountId, key, fingerprint }: RunClaim,
      knownTo: number,
    ): Promise<'begun' | StoredRun | undefined> {
      // The count comes first, so that the index no longer has what was freed.
      const begun = await sql`
        with freed as (
          update idempotent_run set state = 'failed', taken_over = expires_at > now() and fingerprint = ${fingerprint},
            expires_at = case when expires_at > now() then now() + make_interval(hours => ${KEPT_HOURS})
              else now() + make_interval(secs => ${FAILED_SECONDS}) end
          where account_id = ${accountId} and key = ${key} and state <> 'failed'
            and case when state = 'running' then ${dead(knownTo)} else expires_at <= now() end
          returning id
        )
        insert into idempotent_run (id, account_id, key, fingerprint, leased_until, expires_at)
        select ${id}, ${accountId}, ${key}, ${fingerprint}, ${lease()}, now() + make_interval(hours => ${KEPT_HOURS})
        from (select count(*) from freed) as counted
        on conflict (account_id, key) where state <> 'failed' do nothing returning id`
      if (begun.length > 0) return 'begun'
      const [row] = await sql<RunRow[]>`
        select ${columns(knownTo)} from idempotent_run
        where account_id = ${accountId} and key = ${key} and state <> 'failed'`
      return row && toRun(row)
    },
    async find(id: string, knownTo: number): Promise<StoredRun | undefined> {
      const [row] = await sql<RunRow[]>`select ${columns(knownTo)} from idempotent_run where id = ${id}`
      return row && toRun(row)
    },
    /** Keeps runs alive; returns what the time is by the clock of the database, in ms. */
    async renew(ids: readonly string[]): Promise<number> {
      const [row] = await sql<{ now_ms: number }[]>`
        with renewed as (
          update idempotent_run set leased_until = ${lease()}
          where id = any(${`{${ids.join(',')}}`}::text::uuid[]) and state = 'running'
        )
        select extract(epoch from clock_timestamp())::float8 * 1000 as now_ms`
      return row?.now_ms ?? 0
    },
    /** The answer begins. Changes nothing of a run that is no longer this process's; nor does `end`. */
    async begin(id: string, { status, headers }: AnswerHead): Promise<void> {
      await sql`
        update idempotent_run set status = ${status}, headers = ${JSON.stringify(headers)}::text::jsonb
        where id = ${id} and state = 'running'`
    },
    append: (id: string, chunk: StoredChunk) => insert(sql, id, chunk),
    async end(id: string, { state, head, last }: RunEnd): Promise<void> {
      await sql.begin(async tx => {
        const isFailed = state === 'failed'
        const rows = await tx`
          update idempotent_run set state = ${state}, status = coalesce(${head?.status ?? null}, status),
            headers = coalesce(${head === undefined ? null : JSON.stringify(head.headers)}::text::jsonb, headers),
            expires_at = case when ${isFailed} then now() + make_interval(secs => ${FAILED_SECONDS}) else expires_at end
          where id = ${id} and state = 'running' returning id`
        if (rows.length === 0) return
        if (last !== undefined) await insert(tx, id, last)
        if (state === 'unkept') await tx`delete from idempotent_chunk where run_id = ${id}`
      })
    },
    /** The next stretches from `seq` on, in order. */
    async chunks(id: string, seq: number): Promise<StoredChunk[]> {
      const rows = await sql<{ seq: number; content: Uint8Array; ending: StoredChunk['ending'] | null }[]>`
        select seq, content, ending from idempotent_chunk where run_id = ${id} and seq >= ${seq}
        order by seq limit ${READ_AT_ONCE}`
      return rows.map(row => ({ seq: row.seq, content: row.content, ending: row.ending ?? undefined }))
    },
    /** Runs whose process died, and whose key a retry has taken: the ids are those of their exchanges, too. */
    async takenOver(): Promise<{ id: string; accountId: number }[]> {
      const rows = await sql<{ id: string; account_id: bigint }[]>`
        select id, account_id from idempotent_run where taken_over`
      return rows.map(row => ({ id: row.id, accountId: Number(row.account_id) }))
    },
    /** Deletes what is past its time, but nothing that still runs; returns how many runs. */
    sweep: (knownTo: number): Promise<number> =>
      deleteInPortions(
        most => sql`
          delete from idempotent_run where id in (
            select id from idempotent_run where expires_at <= now() and (state <> 'running' or ${dead(knownTo)})
            order by expires_at limit ${most} for update skip locked) returning id`,
      ),
  }
}

/** The same again changes nothing: a write whose answer was lost is repeated. */
async function insert(sql: ISql<{ bigint: bigint }>, id: string, chunk: StoredChunk): Promise<void> {
  await sql`insert into idempotent_chunk (run_id, seq, content, ending)
    values (${id}, ${chunk.seq}, ${chunk.content}, ${chunk.ending ?? null}) on conflict do nothing`
}

interface RunRow {
  id: string
  fingerprint: Uint8Array
  state: RunState
  status: number | null
  headers: Record<string, string> | null
  alive: boolean
  pulse: string
}

function toRun({ id, fingerprint, state, status, headers, alive, pulse }: RunRow): StoredRun {
  const head = status === null || headers === null ? undefined : { status, headers }
  return { id, fingerprint, state, head, alive, pulse }
}
