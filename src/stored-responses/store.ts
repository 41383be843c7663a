import { and, arrayOverlaps, asc, eq, gt, inArray, isNotNull, lt, lte, sql } from 'drizzle-orm'
import type { Database, Transaction } from '@/db/connect.ts'
import { deleteInPortions } from '@/db/in-portions.ts'
import { type StoredStatus, storedResponse, storedResponseEvents } from '@/db/schema.ts'
import { parseObject } from '@/json/json.ts'
import { sliceItems } from '@/json/slice.ts'
import type { SecretBox } from '@/secrets/secret-box.ts'
import { contentBox } from './content.ts'
import {
  isRunning,
  type NewResponse,
  type ResponseHead,
  type ResponseKey,
  type StoredEvent,
  type StoredResponse,
  type StoredTurn,
} from './stored-response.ts'

/** How long a response is kept, by the clock of the database: a gateway whose own is wrong ends nobody's. */
const LIFETIME_DAYS = 30

/** Of an item's id, so that it fits into a page of the index. */
const MAX_ITEM_ID_LENGTH = 512

/** Batches of events that one look fetches. */
const BATCHES_AT_ONCE = 50

/** How a response ended, to be kept. */
export interface ResponseEnd {
  status: Exclude<StoredStatus, 'queued' | 'in_progress'>
  /** The response object as it is from now on, JSON. */
  response: string
  /** The last of its events. */
  events: readonly StoredEvent[]
}

/** The end of a response that depends on how far it came. */
export type FindEnd = (response: string, events: readonly StoredEvent[]) => ResponseEnd

/** Where responses are kept, and what seals them. */
interface ResponseStoreOptions {
  database: Database
  secretBox: SecretBox
}

/** The only SQL for stored responses. Everything asks for the account: the id of another's response finds nothing. */
export type ResponseStore = ReturnType<typeof responseStore>

/** The responses of all accounts; each call names the account it is for. */
export function responseStore({ database, secretBox }: ResponseStoreOptions) {
  const { orm } = database
  const box = contentBox(secretBox)
  const isAlive = () => gt(storedResponse.expiresAt, sql`now()`)
  const isThis = ({ accountId, id }: ResponseKey) =>
    and(eq(storedResponse.id, idInText(id)), eq(storedResponse.accountId, accountId), isAlive())

  async function addEvents(tx: Transaction, id: string, events: readonly StoredEvent[]): Promise<void> {
    const [first] = events
    const last = events.at(-1)
    if (first === undefined || last === undefined) return
    const row = { responseId: id, first: first.number, last: last.number, events: box.sealEvents(events) }
    // A batch whose writing was not acknowledged comes again, with what came after it.
    await tx
      .insert(storedResponseEvents)
      .values(row)
      .onConflictDoUpdate({
        target: [storedResponseEvents.responseId, storedResponseEvents.first],
        set: { last: row.last, events: row.events },
      })
  }

  async function eventsOf(tx: Transaction, id: string): Promise<StoredEvent[]> {
    const rows = await tx
      .select({ events: storedResponseEvents.events })
      .from(storedResponseEvents)
      .where(eq(storedResponseEvents.responseId, id))
      .orderBy(asc(storedResponseEvents.first))
    return rows.flatMap(row => box.openEvents(row.events))
  }

  return {
    async add(response: NewResponse): Promise<void> {
      await orm.transaction(async tx => {
        await tx.insert(storedResponse).values({
          id: response.id,
          accountId: response.accountId,
          previousId: response.previousId ?? null,
          status: response.status,
          background: response.background,
          model: response.model,
          input: box.sealList(response.input),
          response: box.seal(response.response),
          itemIds: itemIds(response.response),
          plainBytes: plainBytes(response),
          responseBytes: Buffer.byteLength(response.response),
          createdAt: new Date(response.createdAt),
          expiresAt: sql`now() + make_interval(days => ${LIFETIME_DAYS})`,
          seenAt: isRunning(response.status) ? sql`now()` : null,
        })
        await addEvents(tx, response.id, response.events)
      })
    },

    async find(key: ResponseKey): Promise<StoredResponse | undefined> {
      const [row] = await orm
        .select({
          id: storedResponse.id,
          status: storedResponse.status,
          background: storedResponse.background,
          response: storedResponse.response,
        })
        .from(storedResponse)
        .where(isThis(key))
      return row === undefined ? undefined : { ...row, response: box.open(row.response) }
    },

    async head(key: ResponseKey): Promise<ResponseHead | undefined> {
      const { status, background, plainBytes, responseBytes } = storedResponse
      const columns = { status, background, plainBytes, responseBytes }
      const [row] = await orm.select(columns).from(storedResponse).where(isThis(key))
      if (row === undefined) return undefined
      const sizes = {
        responseBytes: responseBytesOf(row),
        inputBytes: row.plainBytes - (row.responseBytes ?? 0),
      }
      return { status: row.status, background: row.background, ...sizes }
    },

    /** The items of its own turn. */
    async findInput(key: ResponseKey): Promise<string[] | undefined> {
      const [row] = await orm.select({ input: storedResponse.input }).from(storedResponse).where(isThis(key))
      return row === undefined ? undefined : box.openList(row.input)
    },

    /**
     * The conversation up to and with a response, oldest turn first. `missing`: it, or one before it, is not there (any
     * more); `running`: it has not ended; `too-large`: its turns have more bytes than `maxBytes`.
     * @param onBytes told how many bytes will be read, before they are; what it throws ends that
     */
    async conversation(
      { accountId, id }: ResponseKey,
      maxBytes: number,
      onBytes: (bytes: number) => void,
    ): Promise<StoredTurn[] | 'missing' | 'running' | 'too-large'> {
      const chain = await database.sql<ChainRow[]>`
        with recursive chain as (
          select id, previous_id, status, plain_bytes::bigint as total, 1 as depth
          from stored_response
          where id = ${idInText(id)} and account_id = ${accountId} and expires_at > now()
          union all
          select earlier.id, earlier.previous_id, earlier.status, chain.total + earlier.plain_bytes, depth + 1
          from chain join stored_response earlier on earlier.id = chain.previous_id
          where earlier.account_id = ${accountId} and earlier.expires_at > now()
            and chain.total <= ${maxBytes}
        )
        select id, previous_id, status, total from chain order by depth desc`
      const [oldest] = chain
      if (oldest === undefined) return 'missing'
      if (isRunning(chain.at(-1)?.status ?? 'queued')) return 'running'
      if (oldest.total > BigInt(maxBytes)) return 'too-large'
      if (oldest.previous_id !== null) return 'missing'
      onBytes(Number(oldest.total))
      const rows = await database.sql<TurnRow[]>`
        select turn.input, turn.response
        from unnest(${chain.map(row => row.id)}::text[]) with ordinality as chain(id, place)
        join stored_response turn on turn.id = chain.id order by chain.place`
      // One was deleted in this moment.
      if (rows.length < chain.length) return 'missing'
      return rows.map(row => ({ input: box.openList(row.input), response: box.open(row.response) }))
    },

    /**
     * Items of the output of an account's responses, by their ids; what is not there is left out. `too-large`: they have
     * more than `maxBytes`.
     * @param onBytes told how many bytes more will be in memory, before they are; what it throws ends that
     */
    async items(
      accountId: number,
      ids: ReadonlySet<string>,
      maxBytes: number,
      onBytes: (bytes: number) => void,
    ): Promise<ReadonlyMap<string, string> | 'too-large'> {
      const asked = [...ids].filter(isIndexed)
      if (asked.length === 0) return new Map()
      const isMeant = and(
        eq(storedResponse.accountId, accountId),
        arrayOverlaps(storedResponse.itemIds, asked),
        isAlive(),
      )
      const { id, plainBytes, responseBytes } = storedResponse
      const rows = await orm.select({ id, plainBytes, responseBytes }).from(storedResponse).where(isMeant)
      const found = new Map<string, string>()
      let bytes = 0
      let told = 0
      // One after another, so that no more than one is in memory with what is not asked for.
      for (const row of rows) {
        const needed = Math.max(told, bytes + responseBytesOf(row))
        onBytes(needed - told)
        told = needed
        const stored = await this.find({ accountId, id: row.id })
        for (const [itemId, item] of outputById(stored?.response ?? '{}')) {
          if (!ids.has(itemId) || found.has(itemId)) continue
          found.set(itemId, item)
          bytes += Buffer.byteLength(item)
          if (bytes > maxBytes) return 'too-large'
        }
      }
      return found
    },

    /** False if there was nothing to delete. */
    async remove(key: ResponseKey): Promise<boolean> {
      const gone = await orm.delete(storedResponse).where(isThis(key)).returning({ id: storedResponse.id })
      return gone.length > 0
    },

    /** Some of the events after a number, in order; none if there are none yet. */
    async eventsAfter(key: ResponseKey, number: number): Promise<StoredEvent[]> {
      const rows = await orm
        .select({ events: storedResponseEvents.events })
        .from(storedResponseEvents)
        .innerJoin(storedResponse, eq(storedResponse.id, storedResponseEvents.responseId))
        .where(and(isThis(key), gt(storedResponseEvents.last, number)))
        .orderBy(asc(storedResponseEvents.first))
        .limit(BATCHES_AT_ONCE)
      return rows.flatMap(row => box.openEvents(row.events)).filter(event => event.number > number)
    },

    /** Adds events to a running response. False if it does not run any more: it was cancelled, deleted, given up. */
    append: (id: string, events: readonly StoredEvent[]): Promise<boolean> =>
      orm.transaction(async tx => {
        const running = await tx
          .update(storedResponse)
          .set({ status: 'in_progress', seenAt: sql`now()` })
          .where(and(eq(storedResponse.id, id), isNotNull(storedResponse.seenAt)))
          .returning({ id: storedResponse.id })
        if (running.length === 0) return false
        await addEvents(tx, id, events)
        return true
      }),

    /** Ends a running response. False if it had ended. */
    finish: (id: string, end: ResponseEnd | FindEnd): Promise<boolean> =>
      orm.transaction(async tx => {
        const isRunningStill = and(eq(storedResponse.id, id), isNotNull(storedResponse.seenAt))
        // Locked, so that no event comes after those that the end is made of.
        const [running] = await tx
          .select({ response: storedResponse.response })
          .from(storedResponse)
          .where(isRunningStill)
          .for('update')
        if (running === undefined) return false
        const { status, response, events } =
          typeof end === 'function' ? end(box.open(running.response), await eventsOf(tx, id)) : end
        const bytes = Buffer.byteLength(response)
        await tx
          .update(storedResponse)
          .set({
            status,
            seenAt: null,
            response: box.seal(response),
            itemIds: itemIds(response),
            plainBytes: sql`${storedResponse.plainBytes} - coalesce(${storedResponse.responseBytes}, 0) + ${bytes}`,
            responseBytes: bytes,
          })
          .where(eq(storedResponse.id, id))
        await addEvents(tx, id, events)
        return true
      }),

    /** Says that these still run here; the result is those that do not any more. */
    async beat(ids: readonly string[]): Promise<string[]> {
      if (ids.length === 0) return []
      const running = await orm
        .update(storedResponse)
        .set({ seenAt: sql`now()` })
        .where(and(inArray(storedResponse.id, [...ids]), isNotNull(storedResponse.seenAt)))
        .returning({ id: storedResponse.id })
      const found = new Set(running.map(({ id }) => id))
      return ids.filter(id => !found.has(id))
    },

    /** Running responses whose process was not heard of for so long, by the clock of the database, and what that says. */
    async abandoned(silentMs: number): Promise<{ ids: readonly string[]; nowMs: number }> {
      const ids = orm
        .select({ id: storedResponse.id })
        .from(storedResponse)
        .where(lt(storedResponse.seenAt, sql`now() - ${silentMs} * interval '1 millisecond'`))
      const [row] = await orm.execute<{ ids: string[]; now_ms: number }>(
        sql`select array(${ids}) as ids, extract(epoch from clock_timestamp())::float8 * 1000 as now_ms`,
      )
      return { ids: row?.ids ?? [], nowMs: row?.now_ms ?? 0 }
    },

    /** Deletes what has expired; the result is how many responses. */
    sweep(): Promise<number> {
      const expired = orm
        .select({ id: storedResponse.id })
        .from(storedResponse)
        .where(lte(storedResponse.expiresAt, sql`now()`))
      return deleteInPortions(most =>
        orm
          .delete(storedResponse)
          .where(inArray(storedResponse.id, expired.limit(most)))
          .returning({ id: storedResponse.id }),
      )
    },
  }
}

interface ChainRow {
  id: string
  previous_id: string | null
  status: StoredStatus
  /** Bytes of this turn and those after it. */
  total: bigint
}

interface TurnRow {
  input: Uint8Array
  response: Uint8Array
}

/** The items of a response's output that have an id, as JSON texts. */
function outputById(response: string): [id: string, item: string][] {
  const items = sliceItems(Buffer.from(response), 'output') ?? []
  return items.flatMap((item): [string, string][] => {
    const id = parseObject(item)?.['id']
    return typeof id === 'string' ? [[id, item]] : []
  })
}

function itemIds(response: string): string[] {
  return outputById(response)
    .map(([id]) => id)
    .filter(isIndexed)
}

/** Whether items are found by an id: what no index takes is no id that a vendor gives. */
function isIndexed(id: string): boolean {
  return id.length <= MAX_ITEM_ID_LENGTH && !id.includes('\0')
}

/** An id as Postgres takes it. No text of its has a NUL in it, so there is no response of such an id: none has an empty one. */
function idInText(id: string): string {
  return id.includes('\0') ? '' : id
}

/** At the most, where it was not written down. */
function responseBytesOf(row: { plainBytes: number; responseBytes: number | null }): number {
  return row.responseBytes ?? row.plainBytes
}

function plainBytes({ input, response }: Pick<NewResponse, 'input' | 'response'>): number {
  return input.reduce((sum, item) => sum + Buffer.byteLength(item), Buffer.byteLength(response))
}
