import { and, desc, eq, gte, lt, sql } from 'drizzle-orm'
import type { Rows, Transaction } from '@/db/connect.ts'
import { adminAct } from '@/db/schema.ts'
import type { JsonObject } from '@/json/json.ts'
import type { Console } from './deployment.ts'

/** Who does something. */
export interface Actor {
  /** Null: the command line, or the printed link. */
  userId: number | null
  email: string
  ip: string | undefined
}

/** Whoever runs commands on the deployment's database. */
export const COMMAND_LINE: Actor = { userId: null, email: 'command line', ip: undefined }

/** What is done. `before` and `after` hold no secret; null: it was not there. */
export interface Act {
  /** `account.suspend`, `channel.change`... */
  action: string
  /** What it is done to: `account 17`, `channel openai-main`. */
  target: string
  before: JsonObject | null
  after: JsonObject | null
}

/** Does something and writes it down, both or neither. An act that is undefined changed nothing. */
export function administer<Result>(
  { database }: Pick<Console, 'database'>,
  actor: Actor,
  work: (tx: Transaction) => Promise<{ result: Result; act: Act | undefined }>,
): Promise<Result> {
  return database.orm.transaction(async tx => {
    const { result, act } = await work(tx)
    if (act !== undefined) await writeAct(tx, actor, act)
    return result
  })
}

/** Writes the line of the log that tells of a change. */
export async function writeAct(tx: Transaction, { userId, email, ip }: Actor, act: Act): Promise<void> {
  await tx.insert(adminAct).values({ ...act, userId, email, ip: ip ?? null })
}

/** Newest first. Of `action`, `target` and `by`, whose address that is, a part is enough. */
export function readActs(
  rows: Rows,
  part: {
    before: number | undefined
    limit: number
    action: string | undefined
    userId: number | undefined
    target: string | undefined
    by?: string | undefined
    from?: Date | undefined
    to?: Date | undefined
  },
) {
  return rows
    .select()
    .from(adminAct)
    .where(
      and(
        part.before === undefined ? undefined : isBefore(part.before),
        part.action === undefined ? undefined : hasPart(adminAct.action, part.action),
        part.userId === undefined ? undefined : eq(adminAct.userId, part.userId),
        part.target === undefined ? undefined : hasPart(adminAct.target, part.target),
        part.by === undefined ? undefined : hasPart(adminAct.email, part.by),
        part.from === undefined ? undefined : gte(adminAct.at, part.from),
        part.to === undefined ? undefined : lt(adminAct.at, part.to),
      ),
    )
    .orderBy(desc(adminAct.at), desc(adminAct.id))
    .limit(part.limit)
}

/** Ordered by time, and not by id alone, for the index of both: of acts long ago Postgres reads no later ones. */
function isBefore(id: number) {
  const place = sql`select ${adminAct.at}, ${adminAct.id} from ${adminAct} where ${adminAct.id} = ${id}`
  return sql`(${adminAct.at}, ${adminAct.id}) < (${place})`
}

/**
 * Whatever the case. A number as the first or last word of the part is all of a number: `account 1` and `1` are parts of
 * `account 1 and more` and not of `account 17`; `claude-4-2025` is one of `claude-4-20250514`.
 */
function hasPart(
  text: typeof adminAct.action | typeof adminAct.target | typeof adminAct.email,
  part: string,
) {
  const before = /^\d+(?!\S)/.test(part) ? '(?<![0-9])' : ''
  const after = /(?<!\S)\d+$/.test(part) ? '(?![0-9])' : ''
  return sql`${text} ~* ${before + part.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&') + after}`
}
