import { and, asc, desc, eq, inArray, isNotNull, lt, ne, or, type SQL, sql } from 'drizzle-orm'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import type { Rows, Transaction } from '@/db/connect.ts'
import { type AccountStatus, account, accountModel, apiKey, type KeyStatus, wallet } from '@/db/schema.ts'
import { FOREIGN_KEY_VIOLATION, sqlErrorOf, UNIQUE_VIOLATION } from '@/db/sql-error.ts'
import { Refusal } from '@/errors/refusal.ts'
import type { Account, ApiKey, KeyRecord, Limits, SpendCap } from './account.ts'
import { toAccount, toApiKey, toKeyRecord } from './account-rows.ts'
import { mintKey } from './api-key.ts'
import { readEmail } from './email.ts'

/** The NOTIFY channel on which every process hears that something about keys changed (key-cache.ts). */
export const KEYS_CHANNEL = 'tollgate_keys'

/** An account as whoever opens it describes it. */
export interface NewAccount {
  email: string
  creditNano: bigint
  /** Whether the credit was given rather than paid for. */
  onTrial: boolean
  models: readonly string[]
  /** Undefined: content may be kept where a caller asks for it. */
  storeAllowed?: boolean | undefined
}

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

/** A part of a list, newest first. */
export interface Part {
  /** Only what has a smaller id; undefined: from the newest. */
  before: number | undefined
  limit: number
}

/** New values of limits: undefined leaves one as it is, null puts it back to the deployment's default. */
export type LimitChanges = { [Name in keyof Limits]?: number | null }

const MODEL_MISSING = 'One of these models does not exist'

/** The only SQL for accounts and keys. What cannot be done is a Refusal. */
export interface AccountStore {
  createAccount(input: NewAccount): Promise<Account>
  /** In order of id. */
  listAccounts(): Promise<Account[]>
  /** `search` is a part of the e-mail address, or an id. */
  searchAccounts(
    part: Part & { search?: string; status?: AccountStatus; asksToClose?: boolean },
  ): Promise<Account[]>
  findAccount(id: number): Promise<Account>
  /** The account, which nobody else changes until the end of the transaction. */
  lockAccount(id: number): Promise<Account>
  findAccountByEmail(email: string): Promise<Account | undefined>
  suspendAccount(id: number): Promise<Account>
  resumeAccount(id: number): Promise<Account>
  /** Revokes its keys with it; the balance, the entries and the receipts stay. */
  closeAccount(id: number): Promise<Account>
  /** Makes a closed one active again. Its keys stay revoked. */
  reopenAccount(id: number): Promise<Account>
  /** Notes since when its holder asks for it to be closed; undefined: they do not any more. */
  requestClosing(id: number, at: Date | undefined): Promise<Account>
  changeLimits(id: number, changes: LimitChanges): Promise<Account>
  /** Says whether content may be kept for the account; what is kept already stays until it expires. */
  allowStore(id: number, allowed: boolean): Promise<Account>
  /** Replaces the models given to the account. */
  setModels(id: number, models: readonly string[]): Promise<Account>
  /** The key itself is in this answer and nowhere else. */
  createKey(input: NewKey): Promise<{ id: number; key: string }>
  /** In order of id, revoked ones included, hidden ones not. */
  listKeys(accountId: number): Promise<ApiKey[]>
  /** `search` is a part of the name, or how the key begins. */
  searchKeys(part: Part & { accountId: number; status?: KeyStatus; search?: string }): Promise<ApiKey[]>
  /** Undefined: there is none, or it is hidden. */
  findKeyById(id: number): Promise<ApiKey | undefined>
  /** The same, for nobody else to change until the end of the transaction. */
  lockKey(id: number): Promise<ApiKey | undefined>
  /** Of those that there are, hidden ones included. */
  findKeyNames(ids: readonly number[]): Promise<{ id: number; name: string; lookup: string }[]>
  renameKey(id: number, name: string): Promise<ApiKey>
  /** For good; revoking twice is no error. */
  revokeKey(id: number): Promise<ApiKey>
  changeKeyLimits(id: number, changes: LimitChanges): Promise<ApiKey>
  findKey(hash: Uint8Array): Promise<KeyRecord | undefined>
  /** Notes that the keys were used just now. */
  touchKeys(ids: readonly number[]): Promise<void>
}

/** Inside a transaction (`{ orm: tx }`) everything it does is a part of that. */
export function accountStore(database: { orm: Rows }): AccountStore {
  const { orm } = database
  let findKeyByHash: ReturnType<typeof prepareFindKey> | undefined

  async function findAccount(id: number): Promise<Account> {
    const [found] = await selectAccounts(orm, eq(account.id, id))
    return found ?? refuse(`There is no account ${id}`)
  }

  /** Changes the account and lets every process forget what it knew of its keys, both or neither. */
  async function changeAccount(id: number, change: (tx: Transaction) => Promise<unknown>): Promise<Account> {
    await orm.transaction(async tx => {
      await change(tx)
      await notify(tx, `account:${id}`)
    })
    return findAccount(id)
  }

  async function changeKey(id: number, change: PgUpdateSetSource<typeof apiKey>): Promise<ApiKey> {
    return orm.transaction(async tx => {
      const [row] = await tx.update(apiKey).set(change).where(eq(apiKey.id, id)).returning()
      if (row === undefined) throw new Refusal(`There is no key ${id}`)
      await notify(tx, `key:${Buffer.from(row.hash).toString('hex')}`)
      return toApiKey(row)
    })
  }

  return {
    async createAccount(input) {
      const email = readEmail(input.email) ?? refuse(`"${input.email}" is not an e-mail address`)
      const row = { email, onTrial: input.onTrial, storeAllowed: input.storeAllowed ?? true }
      const id = await orm
        .transaction(async tx => {
          const [created] = await tx.insert(account).values(row).returning({ id: account.id })
          if (created === undefined) throw new Error('insert returned nothing')
          await insertModels(tx, created.id, input.models)
          await openWallet(tx, created.id, input)
          return created.id
        })
        .catch(error =>
          explain(error, {
            taken: `There is an account with the e-mail address ${email} already`,
            missing: MODEL_MISSING,
          }),
        )
      return findAccount(id)
    },
    listAccounts: () => selectAccounts(orm, undefined),
    searchAccounts: ({ before, limit, search, status, asksToClose }) =>
      selectAccounts(
        orm,
        and(
          before === undefined ? undefined : lt(account.id, before),
          status === undefined ? undefined : eq(account.status, status),
          asksToClose === true ? isNotNull(account.closeRequestedAt) : undefined,
          search === undefined ? undefined : matches(search),
        ),
        limit,
      ),
    findAccount,
    async lockAccount(id) {
      await orm.select({ id: account.id }).from(account).where(eq(account.id, id)).for('update')
      return findAccount(id)
    },
    async findAccountByEmail(email) {
      const [found] = await selectAccounts(orm, eq(account.email, email.trim().toLowerCase()))
      return found
    },
    suspendAccount: id => changeAccount(id, tx => setStatus(tx, id, 'suspended')),
    resumeAccount: id => changeAccount(id, tx => setStatus(tx, id, 'active')),
    closeAccount: id =>
      changeAccount(id, async tx => {
        await setStatus(tx, id, 'closed')
        await tx.update(account).set({ closeRequestedAt: null }).where(eq(account.id, id))
        const working = and(eq(apiKey.accountId, id), eq(apiKey.status, 'active'))
        await tx.update(apiKey).set({ status: 'revoked', revokedAt: sql`now()` }).where(working)
      }),
    reopenAccount: id =>
      changeAccount(id, async tx => {
        const closed = and(eq(account.id, id), eq(account.status, 'closed'))
        const changed = await tx.update(account).set({ status: 'active' }).where(closed).returning()
        if (changed.length === 0) refuse(`Account ${id} is not closed`)
      }),
    async requestClosing(id, at) {
      await orm
        .update(account)
        .set({ closeRequestedAt: at ?? null })
        .where(and(eq(account.id, id), ne(account.status, 'closed')))
      return findAccount(id)
    },
    changeLimits: (id, changes) =>
      changeAccount(id, async tx => {
        const values = limitColumns(changes)
        if (Object.keys(values).length > 0) await tx.update(account).set(values).where(eq(account.id, id))
      }),
    allowStore: (id, allowed) =>
      changeAccount(id, tx => tx.update(account).set({ storeAllowed: allowed }).where(eq(account.id, id))),
    async setModels(id, models) {
      await findAccount(id)
      return changeAccount(id, async tx => {
        await tx.delete(accountModel).where(eq(accountModel.accountId, id))
        await insertModels(tx, id, models)
      }).catch(error => explain(error, { missing: MODEL_MISSING }))
    },
    async createKey(input) {
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
      const [created] = await orm
        .transaction(async tx => {
          await refuseClosed(tx, input.accountId)
          return tx.insert(apiKey).values(row).returning({ id: apiKey.id })
        })
        .catch(error => explain(error, { missing: `There is no account ${input.accountId}` }))
      if (created === undefined) throw new Error('insert returned nothing')
      return { id: created.id, key }
    },
    async listKeys(accountId) {
      await findAccount(accountId)
      const rows = await orm
        .select()
        .from(apiKey)
        .where(and(eq(apiKey.accountId, accountId), eq(apiKey.hidden, false)))
        .orderBy(asc(apiKey.id))
      return rows.map(toApiKey)
    },
    async searchKeys({ accountId, before, limit, status, search }) {
      const rows = await orm
        .select()
        .from(apiKey)
        .where(
          and(
            eq(apiKey.accountId, accountId),
            eq(apiKey.hidden, false),
            before === undefined ? undefined : lt(apiKey.id, before),
            status === undefined ? undefined : eq(apiKey.status, status),
            search === undefined ? undefined : isCalled(search),
          ),
        )
        .orderBy(desc(apiKey.id))
        .limit(limit)
      return rows.map(toApiKey)
    },
    async findKeyById(id) {
      const [row] = await orm
        .select()
        .from(apiKey)
        .where(and(eq(apiKey.id, id), eq(apiKey.hidden, false)))
      return row && toApiKey(row)
    },
    async lockKey(id) {
      const [row] = await orm
        .select()
        .from(apiKey)
        .where(and(eq(apiKey.id, id), eq(apiKey.hidden, false)))
        .for('update')
      return row && toApiKey(row)
    },
    async findKeyNames(ids) {
      if (ids.length === 0) return []
      return orm
        .select({ id: apiKey.id, name: apiKey.name, lookup: apiKey.lookup })
        .from(apiKey)
        .where(inArray(apiKey.id, [...ids]))
    },
    renameKey: (id, name) => changeKey(id, { name }),
    revokeKey: id =>
      changeKey(id, { status: 'revoked', revokedAt: sql`coalesce(${apiKey.revokedAt}, now())` }),
    async changeKeyLimits(id, changes) {
      const values = limitColumns(changes)
      if (Object.keys(values).length > 0) return changeKey(id, values)
      const [row] = await orm.select().from(apiKey).where(eq(apiKey.id, id))
      return row === undefined ? refuse(`There is no key ${id}`) : toApiKey(row)
    },
    async findKey(hash) {
      findKeyByHash ??= prepareFindKey(orm)
      const [row] = await findKeyByHash.execute({ hash })
      return row === undefined ? undefined : toKeyRecord(row)
    },
    async touchKeys(ids) {
      if (ids.length === 0) return
      // One parameter: a statement can have 65,535, and more keys than that may be used in a minute.
      await orm
        .update(apiKey)
        .set({ lastUsedAt: sql`now()` })
        .where(sql`${apiKey.id} = any (${`{${ids.join(',')}}`}::text::bigint[])`)
    },
  }
}

/** A key's name, in capitals or not, or its beginning as lists show it. */
function isCalled(search: string): SQL | undefined {
  const begins = search.trim().replace(/^sk-/, '')
  const shown = begins === '' ? undefined : sql`starts_with(${apiKey.lookup}, ${begins.slice(0, 8)})`
  return or(sql`lower(${apiKey.name}) like ${patternOf(search)}`, shown)
}

function patternOf(search: string): string {
  return `%${search
    .trim()
    .toLowerCase()
    .replace(/[\\%_]/g, '\\$&')}%`
}

/** An id is also a part of many addresses. */
function matches(search: string): SQL | undefined {
  const pattern = patternOf(search)
  const id = /^\d{1,15}$/.test(search.trim()) ? eq(account.id, Number(search.trim())) : undefined
  return or(sql`${account.email} like ${pattern}`, id)
}

/** The models that were given to the account of a row. */
const MODELS = sql<string[]>`array(select ${accountModel.modelId} from ${accountModel}
  where ${accountModel.accountId} = ${account.id} order by 1)`

/** All of them in order of id or, with a limit, the newest. */
async function selectAccounts(orm: Rows, where: SQL | undefined, limit?: number): Promise<Account[]> {
  const query = orm
    .select({
      account,
      wallet,
      models: MODELS,
    })
    .from(account)
    .leftJoin(wallet, eq(wallet.accountId, account.id))
    .where(where)
    .orderBy(limit === undefined ? asc(account.id) : desc(account.id))
  const rows = await (limit === undefined ? query : query.limit(limit))
  return rows.map(row => toAccount(row.account, row.wallet, row.models))
}

function prepareFindKey(orm: Rows) {
  return orm
    .select({
      key: apiKey,
      account,
      models: MODELS,
    })
    .from(apiKey)
    .innerJoin(account, eq(account.id, apiKey.accountId))
    .where(eq(apiKey.hash, sql.placeholder('hash')))
    .prepare('find_key')
}

/** Of an account that is open it stays so until the end of the transaction. */
async function refuseClosed(tx: Transaction, id: number): Promise<void> {
  const [found] = await tx
    .select({ status: account.status })
    .from(account)
    .where(eq(account.id, id))
    .for('share')
  if (found?.status === 'closed') refuse(`Account ${id} is closed`)
}

async function setStatus(tx: Transaction, id: number, status: AccountStatus): Promise<void> {
  const open = and(eq(account.id, id), ne(account.status, 'closed'))
  const changed = await tx.update(account).set({ status }).where(open).returning({ id: account.id })
  if (changed.length > 0) return
  const [found] = await tx.select({ id: account.id }).from(account).where(eq(account.id, id))
  throw new Refusal(found === undefined ? `There is no account ${id}` : `Account ${id} is closed`)
}

async function insertModels(tx: Transaction, accountId: number, models: readonly string[]): Promise<void> {
  const rows = [...new Set(models)].map(modelId => ({ accountId, modelId }))
  if (rows.length > 0) await tx.insert(accountModel).values(rows)
}

/** The wallet with its first entry, by the ledger's own function: both or neither of account and credit. */
async function openWallet(tx: Transaction, id: number, input: NewAccount): Promise<void> {
  const kind = input.onTrial ? 'trial' : 'topup'
  await tx.execute(sql`select ledger_open_account(${id}::bigint, ${input.creditNano}::bigint, ${kind})`)
}

async function notify(tx: Transaction, payload: string): Promise<void> {
  await tx.execute(sql`select pg_notify(${KEYS_CHANNEL}, ${payload})`)
}

function limitColumns(changes: LimitChanges): LimitChanges {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
}

/** A broken constraint as a sentence for the operator; anything else as it is. */
function explain(error: unknown, say: { taken?: string; missing?: string }): never {
  const code = sqlErrorOf(error)?.code
  if (code === UNIQUE_VIOLATION && say.taken !== undefined) throw new Refusal(say.taken, { cause: error })
  if (code === FOREIGN_KEY_VIOLATION && say.missing !== undefined)
    throw new Refusal(say.missing, { cause: error })
  throw error
}

function refuse(message: string): never {
  throw new Refusal(message)
}
