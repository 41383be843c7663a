import {
  and,
  asc,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  inArray,
  isNull,
  lt,
  lte,
  ne,
  or,
  type SQL,
  sql as sqlText,
} from 'drizzle-orm'
import type { Database } from '@/db/connect.ts'
import { deleteInPortions } from '@/db/in-portions.ts'
import { exchange, type JobMoney, type VideoState, videoJob } from '@/db/schema.ts'
import type { Gateway } from '@/exchange/gateway.ts'
import type { Charge } from '@/exchange/record.ts'
import type { Extras } from '@/generation/extras.ts'
import type { Format } from '@/generation/format.ts'
import type { Rates } from '@/generation/rates.ts'
import type { VideoFault, VideoTerms } from '@/generation/video.ts'
import type { JsonObject } from '@/json/json.ts'
import { readVersion } from '@/routing/catalog/price-store.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'

/** What an order of a video needs, and what looks after it. */
export interface VideoGateway extends Gateway {
  videos: VideoStore
}

/** A video that was ordered. */
export interface VideoJob {
  /** The request id of the order. */
  id: string
  accountId: number
  keyId: number
  model: string
  /** The model as the caller named it. */
  calledModel: string
  /** By name. */
  channel: string
  channelFormat: Format
  channelKeyHash: Uint8Array | undefined
  upstreamModel: string
  upstreamId: string
  content: VideoContent
  state: VideoState
  percent: number
  remixOf: string | undefined
  /** All films together. */
  orderedSeconds: number
  priceVersion: bigint
  money: JobMoney
  createdAt: Date
  endedAt: Date | undefined
  keptUntil: Date | undefined
  deletedAt: Date | undefined
}

/** What of a job is nobody's but its owner's. */
interface VideoContent {
  terms: VideoTerms
  fault: VideoFault | undefined
  /** Where each film lies at its maker; empty where the job's id is enough. */
  files: readonly string[]
  /** What was made, all films together; undefined: as ordered. */
  madeSeconds?: number | undefined
  /** What the maker said last. */
  answer: JsonObject
}

/** What a look at a job brought. */
export interface VideoNews extends Pick<VideoJob, 'state' | 'percent' | 'content' | 'keptUntil'> {}

/** A part of a list; `hasMore`: others come after the last one. */
interface VideoPage {
  jobs: VideoJob[]
  hasMore: boolean
}

interface VideoPart {
  after: string | undefined
  limit: number
  order: 'asc' | 'desc'
}

/** A job that only this process looks at for now. */
export interface LeasedJob {
  job: VideoJob
  /** Since it was ordered, by the clock of the database. */
  ageMs: number
  /** Its deadline is past. */
  isOverdue: boolean
}

/** A process that looks at a job for longer has died on it. */
const LEASE_SECONDS = 60

/** However often its owner asks, a maker is asked no sooner again. */
const REST_SECONDS = 0.5

/** What has not ended by then has failed. Vendors take minutes. */
const DEADLINE_SECONDS = 4 * 60 * 60

/** How long a job that has ended is kept; no maker keeps its film as long. */
export const LIFETIME_DAYS = 30

/** No film is done sooner after its order. */
const FIRST_LOOK_SECONDS = 3

type Row = typeof videoJob.$inferSelect

/** The only SQL of videos. Time is the database's. */
type VideoStore = ReturnType<typeof videoStore>

/** The videos of all accounts. What belongs to their owners alone is sealed with `box`. */
export function videoStore({ orm }: Pick<Database, 'orm'>, box: SecretBox) {
  const toJob = ({ leasedUntil: _, lookAt: __, deadline: ___, progress, ...row }: Row): VideoJob => ({
    ...row,
    percent: progress,
    content: readContent(box.open(row.content)),
    channelKeyHash: row.channelKeyHash ?? undefined,
    remixOf: row.remixOf ?? undefined,
    endedAt: row.endedAt ?? undefined,
    keptUntil: row.keptUntil ?? undefined,
    deletedAt: row.deletedAt ?? undefined,
  })
  const seal = (content: VideoContent) => box.seal(JSON.stringify(content))

  const lease = (which: SQL | undefined): Promise<LeasedJob[]> =>
    orm
      .update(videoJob)
      .set({ leasedUntil: inSeconds(LEASE_SECONDS) })
      .where(and(which, eq(videoJob.money, 'held'), IS_FREE))
      .returning({
        ...getTableColumns(videoJob),
        ageMs: sqlText<number>`(extract(epoch from ${inSeconds(DEADLINE_SECONDS)} - ${videoJob.deadline}) * 1000)::float8`,
        isOverdue: sqlText<boolean>`${videoJob.deadline} <= now()`,
      })
      .then(rows => rows.map(({ ageMs, isOverdue, ...row }) => ({ job: toJob(row), ageMs, isOverdue })))

  const newsOf = ({ state, percent, content, keptUntil }: VideoNews) => ({
    state,
    progress: percent,
    content: seal(content),
    keptUntil: keptUntil ?? null,
  })

  return {
    /** Stores a new job and gives it the hold of its order, which is of so much; both or neither. */
    async add(job: VideoJob, heldNano: bigint): Promise<void> {
      await orm.transaction(async tx => {
        await tx.insert(videoJob).values({
          ...job,
          progress: job.percent,
          content: seal(job.content),
          lookAt: inSeconds(FIRST_LOOK_SECONDS),
          deadline: inSeconds(DEADLINE_SECONDS),
        })
        await tx.execute(
          sqlText`select ledger_entrust(${job.id}, ${job.accountId}, ${inSeconds(DEADLINE_SECONDS)}, ${job.keyId},
            ${`${heldNano}`}::text::bigint, ${job.priceVersion})`,
        )
      })
    },
    /** A job of this account that is not deleted. */
    async find(accountId: number, id: string): Promise<VideoJob | undefined> {
      const [row] = await orm
        .select()
        .from(videoJob)
        .where(and(eq(videoJob.id, id), mineOf(accountId)))
      return row && toJob(row)
    },
    /** A page of them by time, from the one after `after`. */
    async page(accountId: number, { after, limit, order }: VideoPart): Promise<VideoPage> {
      const isAfter = order === 'asc' ? gt : lt
      const rows = await orm
        .select()
        .from(videoJob)
        .where(and(mineOf(accountId), after === undefined ? undefined : isAfter(videoJob.id, after)))
        .orderBy(order === 'asc' ? asc(videoJob.id) : desc(videoJob.id))
        .limit(limit + 1)
      return { jobs: rows.slice(0, limit).map(toJob), hasMore: rows.length > limit }
    },
    /** Takes a job to look at it: nobody else gets it meanwhile. Undefined: somebody has it, or nothing is left to see. */
    async lease(id: string): Promise<LeasedJob | undefined> {
      const [found] = await lease(eq(videoJob.id, id))
      return found
    },
    /** The same for jobs whose time has come. */
    leaseDue(limit: number): Promise<LeasedJob[]> {
      const due = orm
        .select({ id: videoJob.id })
        .from(videoJob)
        .where(and(eq(videoJob.money, 'held'), lte(videoJob.lookAt, sqlText`now()`), IS_FREE))
        .orderBy(asc(videoJob.lookAt))
        .limit(limit)
        .for('update', { skipLocked: true })
      return lease(inArray(videoJob.id, due))
    },
    /** Gives a job back that is not over; `lookInMs` is when it is due again. Of one that has ended meanwhile no news counts. */
    async postpone(id: string, lookInMs: number, news?: VideoNews): Promise<void> {
      await orm
        .update(videoJob)
        .set({
          ...(news && newsOf(news)),
          leasedUntil: inSeconds(REST_SECONDS),
          lookAt: inSeconds(lookInMs / 1000),
        })
        .where(and(isOpen(id), news && IS_RUNNING))
    },
    /** Stores how a job has ended, before its money is moved. The first who does says how; the result is what is stored. */
    async end(id: string, news: VideoNews): Promise<VideoJob> {
      const [ended] = await orm
        .update(videoJob)
        .set({ ...newsOf(news), endedAt: sqlText`now()` })
        .where(and(isOpen(id), IS_RUNNING))
        .returning()
      const [row] =
        ended === undefined ? await orm.select().from(videoJob).where(eq(videoJob.id, id)) : [ended]
      if (row === undefined) throw new Error(`there is no video ${id}`)
      return toJob(row)
    },
    /** Closes a job whose money has been moved. */
    async close(id: string, money: Exclude<JobMoney, 'held'>): Promise<void> {
      await orm.update(videoJob).set({ money, leasedUntil: null }).where(isOpen(id))
    },
    /** Hides a job from its owner. */
    async hide(id: string): Promise<void> {
      await orm.update(videoJob).set({ deletedAt: sqlText`now()` }).where(eq(videoJob.id, id))
    },
    /** Completes the result of the order with what it cost. False: that result is not written yet. */
    async bill(id: string, charge: Charge, extras: Extras): Promise<boolean> {
      const rows = await orm
        .update(exchange)
        .set({
          extras,
          usageSource: 'reported',
          priceVersion: charge.priceVersion,
          costNano: charge.nano,
          costPico: String(charge.pico),
        })
        .where(eq(exchange.id, id))
        .returning({ id: exchange.id })
      return rows.length > 0
    },
    /** Jobs that were ordered within so many days and charged, and whose results do not say so; at most so many. */
    async unbilled(days: number, limit: number): Promise<VideoJob[]> {
      const rows = await orm
        .select()
        .from(videoJob)
        .where(
          and(
            gte(videoJob.id, sqlText`ledger_first_id(now() - make_interval(days => ${days}))`),
            eq(videoJob.money, 'charged'),
            // Not a join, for which the planner may read all results: jobs are few.
            sqlText`(select ${exchange.costNano} is null from ${exchange} where ${exchange.id} = ${videoJob.id})`,
          ),
        )
        .limit(limit)
      return rows.map(toJob)
    },
    /** Deletes jobs that ended long ago; the result is how many. Their money stays in the ledger. */
    sweep(): Promise<number> {
      const old = orm
        .select({ id: videoJob.id })
        .from(videoJob)
        .where(
          and(
            ne(videoJob.money, 'held'),
            lte(videoJob.endedAt, sqlText`now() - make_interval(days => ${LIFETIME_DAYS})`),
          ),
        )
      return deleteInPortions(most =>
        orm
          .delete(videoJob)
          .where(inArray(videoJob.id, old.limit(most)))
          .returning({ id: videoJob.id }),
      )
    },
    /** What a job is charged by; versions are kept for good. */
    async rates(version: bigint): Promise<Rates | undefined> {
      return (await readVersion(orm, version))?.rates
    },
  }
}

const IS_FREE = or(isNull(videoJob.leasedUntil), lte(videoJob.leasedUntil, sqlText`now()`))

const IS_RUNNING = inArray(videoJob.state, ['queued', 'in_progress'])

/** Whoever looks at a job for longer than its lease may come when another has seen its end. */
function isOpen(id: string): SQL | undefined {
  return and(eq(videoJob.id, id), eq(videoJob.money, 'held'))
}

function mineOf(accountId: number): SQL | undefined {
  return and(eq(videoJob.accountId, accountId), isNull(videoJob.deletedAt))
}

function inSeconds(seconds: number): SQL<Date> {
  return sqlText`now() + make_interval(secs => ${seconds})`
}

/** What was sealed here is of this shape; the type is all that the parser does not know. */
function readContent(text: string): VideoContent {
  return JSON.parse(text) as VideoContent
}
