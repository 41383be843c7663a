import { and, asc, desc, eq, gt, isNull, lt, lte, or, type SQL, sql } from 'drizzle-orm'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import type { Rows, Transaction } from '@/db/connect.ts'
import { patternOf } from '@/db/like.ts'
import { account, apiKey, type KeyStatus } from '@/db/schema.ts'
import { Refusal } from '@/errors/refusal.ts'
import type { ApiKey, KeyRecord, LimitChanges, SpendCap } from './account.ts'
import { GIVEN_MODELS, limitColumns, toApiKey, toKeyRecord } from './account-rows.ts'
import { mintKey } from './api-key.ts'
import { forgetKeys } from './key-changes.ts'
import { accountStore, type ListPart } from './store.ts'

/** A key to be made. Everything that narrows it holds beside what narrows its account. */
export interface NewKey {
  accountId: number
  name: string
  /** Undefined: all that its account may use. */
  models?: readonly string[] | undefined
  /** Undefined: never. */
  expiresAt?: Date | undefined
  /** Undefined: from everywhere. */
  allowIps?: readonly string[] | undefined
  /** Undefined: as much as its account has. */
  cap?: SpendCap | undefined
  /** Undefined: as its account may. */
  storeAllowed?: boolean | undefined
  limits?: LimitChanges
  /** True: the console's own; it is in no list. */
  hidden?: boolean
}

interface KeySearch extends ListPart {
  accountId: number
  status?: KeyStatus | undefined
  /** Only those that have expired by then. */
  expiredBy?: Date | undefined
  search?: string | undefined
}

/** The only SQL for keys. What cannot be done is a Refusal. */
export type KeyStore = ReturnType<typeof keyStore>

/** Inside a transaction (`{ orm: tx }`) everything it does is a part of that. */
export function keyStore(database: { orm: Rows }) {
  const { orm } = database
  let findKeyByHash: ReturnType<typeof prepareFindKey> | undefined

  const selectShown = (id: number) =>
    orm
      .select()
      .from(apiKey)
      .where(and(eq(apiKey.id, id), eq(apiKey.hidden, false)))

  async function changeKey(id: number, change: PgUpdateSetSource<typeof apiKey>): Promise<ApiKey> {
    return orm.transaction(async tx => {
      const [row] = await tx.update(apiKey).set(change).where(eq(apiKey.id, id)).returning()
      if (row === undefined) throw new Refusal(`There is no key ${id}`)
      await forgetKeys(tx, `key:${Buffer.from(row.hash).toString('hex')}`)
      return toApiKey(row)
    })
  }

  return {
    /** The key itself is in this answer and nowhere else. */
    async createKey(input: NewKey): Promise<{ id: number; key: string }> {
      const { key, lookup, hash } = mintKey()
      const row = {
        accountId: input.accountId,
        name: input.name,
        lookup,
        hash,
        models: input.models === undefined ? null : [...input.models],
        expiresAt: input.expiresAt ?? null,
        allowIps: input.allowIps === undefined ? null : [...input.allowIps],
        capNano: input.cap?.amountNano ?? null,
        capPeriod: input.cap?.period ?? null,
        storeAllowed: input.storeAllowed ?? true,
        hidden: input.hidden ?? false,
        ...limitColumns(input.limits ?? {}),
      }
      const [created] = await orm.transaction(async tx => {
        await lockActiveAccount(tx, input.accountId)
        return tx.insert(apiKey).values(row).returning({ id: apiKey.id })
      })
      if (created === undefined) throw new Error('insert returned nothing')
      return { id: created.id, key }
    },
    /** In order of id, revoked ones included, hidden ones not. */
    async listKeys(accountId: number): Promise<ApiKey[]> {
      await accountStore(database).findAccount(accountId)
      const rows = await orm
        .select()
        .from(apiKey)
        .where(and(eq(apiKey.accountId, accountId), eq(apiKey.hidden, false)))
        .orderBy(asc(apiKey.id))
      return rows.map(toApiKey)
    },
    /** `search` is a part of the name, or how the key begins. */
    async searchKeys({ accountId, before, limit, status, expiredBy, search }: KeySearch): Promise<ApiKey[]> {
      const rows = await orm
        .select()
        .from(apiKey)
        .where(
          and(
            eq(apiKey.accountId, accountId),
            eq(apiKey.hidden, false),
            before === undefined ? undefined : lt(apiKey.id, before),
            status === undefined ? undefined : eq(apiKey.status, status),
            expiredBy === undefined ? undefined : lte(apiKey.expiresAt, expiredBy),
            search === undefined ? undefined : isCalled(search),
          ),
        )
        .orderBy(desc(apiKey.id))
        .limit(limit)
      return rows.map(toApiKey)
    },
    /** Of these keys the ones that are neither revoked nor expired nor hidden, in order of id. */
    async findKeysInForce(ids: readonly number[], now: Date): Promise<ApiKey[]> {
      const rows = await orm
        .select()
        .from(apiKey)
        .where(
          and(
            isOneOf(ids),
            eq(apiKey.status, 'active'),
            or(isNull(apiKey.expiresAt), gt(apiKey.expiresAt, now)),
            eq(apiKey.hidden, false),
          ),
        )
        .orderBy(asc(apiKey.id))
      return rows.map(toApiKey)
    },
    /** Undefined: there is none, or it is hidden. */
    async findKeyById(id: number): Promise<ApiKey | undefined> {
      const [row] = await selectShown(id)
      return row && toApiKey(row)
    },
    /** The same, for nobody else to change until the end of the transaction. */
    async lockKey(id: number): Promise<ApiKey | undefined> {
      const [row] = await selectShown(id).for('update')
      return row && toApiKey(row)
    },
    /** Of those that there are, hidden ones included. */
    async findKeyNames(ids: readonly number[]): Promise<{ id: number; name: string; lookup: string }[]> {
      if (ids.length === 0) return []
      return orm
        .select({ id: apiKey.id, name: apiKey.name, lookup: apiKey.lookup })
        .from(apiKey)
        .where(isOneOf(ids))
    },
    renameKey: (id: number, name: string) => changeKey(id, { name }),
    /** For good; revoking twice is no error. */
    revokeKey: (id: number) =>
      changeKey(id, { status: 'revoked', revokedAt: sql`coalesce(${apiKey.revokedAt}, now())` }),
    async changeKeyLimits(id: number, changes: LimitChanges): Promise<ApiKey> {
      const values = limitColumns(changes)
      if (Object.keys(values).length > 0) return changeKey(id, values)
      const [row] = await orm.select().from(apiKey).where(eq(apiKey.id, id))
      if (row === undefined) throw new Refusal(`There is no key ${id}`)
      return toApiKey(row)
    },
    async findKey(hash: Uint8Array): Promise<KeyRecord | undefined> {
      findKeyByHash ??= prepareFindKey(orm)
      const [row] = await findKeyByHash.execute({ hash })
      return row === undefined ? undefined : toKeyRecord(row)
    },
    /** Notes that the keys were used just now. */
    async touchKeys(ids: readonly number[]): Promise<void> {
      if (ids.length === 0) return
      await orm.update(apiKey).set({ lastUsedAt: sql`now()` }).where(isOneOf(ids))
    },
  }
}

/** One parameter: a statement can have 65,535, and more keys than that may be used in a minute. */
function isOneOf(ids: readonly number[]): SQL {
  return sql`${apiKey.id} = any (${`{${ids.join(',')}}`}::text::bigint[])`
}

/** A key's name, in capitals or not, or its beginning as lists show it. */
function isCalled(search: string): SQL | undefined {
  const begins = search.trim().replace(/^sk-/, '')
  const shown = begins === '' ? undefined : sql`starts_with(${apiKey.lookup}, ${begins.slice(0, 8)})`
  return or(sql`lower(${apiKey.name}) like ${patternOf(search)}`, shown)
}

function prepareFindKey(orm: Rows) {
  return orm
    .select({
      key: apiKey,
      account,
      models: GIVEN_MODELS,
    })
    .from(apiKey)
    .innerJoin(account, eq(account.id, apiKey.accountId))
    .where(eq(apiKey.hash, sql.placeholder('hash')))
    .prepare('find_key')
}

/**
 * An account that may have new keys, and stays so until the end of the transaction. Whoever has got into one that was
 * suspended for that makes no key to come back with once it is resumed.
 */
async function lockActiveAccount(tx: Transaction, id: number): Promise<void> {
  const [found] = await tx
    .select({ status: account.status })
    .from(account)
    .where(eq(account.id, id))
    .for('share')
  if (found === undefined) throw new Refusal(`There is no account ${id}`)
  if (found.status === 'closed') throw new Refusal(`Account ${id} is closed`)
  if (found.status === 'suspended') {
    throw new Refusal(`Account ${id} is suspended: it gets no new keys until it is resumed`)
  }
}
