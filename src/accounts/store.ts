import { and, asc, desc, eq, inArray, isNotNull, lt, ne, or, type SQL, sql } from 'drizzle-orm'
import type { Rows, Transaction } from '@/db/connect.ts'
import { patternOf } from '@/db/like.ts'
import { type AccountStatus, account, accountModel, apiKey, wallet } from '@/db/schema.ts'
import { FOREIGN_KEY_VIOLATION, sqlErrorOf, UNIQUE_VIOLATION } from '@/db/sql-error.ts'
import { Refusal } from '@/errors/refusal.ts'
import type { Account, LimitChanges } from './account.ts'
import { GIVEN_MODELS, limitColumns, toAccount } from './account-rows.ts'
import { readEmail, storedEmail } from './email.ts'
import { forgetKeys } from './key-changes.ts'

/** An account as whoever opens it describes it. */
interface NewAccount {
  email: string
  creditNano: bigint
  /** Whether the credit was given rather than paid for. */
  onTrial: boolean
  models: readonly string[]
  /** Undefined: content may be kept where a caller asks for it. */
  storeAllowed?: boolean | undefined
}

/** A part of a list, newest first. */
export interface ListPart {
  /** Only what has a smaller id; undefined: from the newest. */
  before: number | undefined
  limit: number
}

interface AccountSearch extends ListPart {
  /** A part of the address, the number, or a key of theirs as far as it is shown. */
  search?: string | undefined
  status?: AccountStatus | undefined
  asksToClose?: boolean | undefined
  /** True: only those whose balance is below zero. */
  inDebt?: boolean | undefined
}

/** Where the addresses of those are who were erased; nobody's mail goes to `.invalid` (RFC 2606). */
const ERASED = 'erased.invalid'

/** The only SQL for accounts. What cannot be done is a Refusal. */
export type AccountStore = ReturnType<typeof accountStore>

/** Inside a transaction (`{ orm: tx }`) everything it does is a part of that. */
export function accountStore({ orm }: { orm: Rows }) {
  async function findAccount(id: number): Promise<Account> {
    const [found] = await selectAccounts(orm, eq(account.id, id))
    return found ?? refuse(`There is no account ${id}`)
  }

  /** Changes the account and lets every process forget what it knew of its keys, both or neither. */
  async function changeAccount(id: number, change: (tx: Transaction) => Promise<unknown>): Promise<Account> {
    await orm.transaction(async tx => {
      await change(tx)
      await forgetKeys(tx, `account:${id}`)
    })
    return findAccount(id)
  }

  return {
    async createAccount(input: NewAccount): Promise<Account> {
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
        .catch(error => explain(error, `There is an account with the e-mail address ${email} already`))
      return findAccount(id)
    },
    /** In order of id. */
    listAccounts: () => selectAccounts(orm, undefined),
    searchAccounts: ({ before, limit, search, status, asksToClose, inDebt }: AccountSearch) =>
      selectAccounts(
        orm,
        and(
          before === undefined ? undefined : lt(account.id, before),
          status === undefined ? undefined : eq(account.status, status),
          asksToClose === true ? isNotNull(account.closeRequestedAt) : undefined,
          inDebt === true ? lt(wallet.credits, wallet.debits) : undefined,
          search === undefined ? undefined : matches(search),
        ),
        limit,
      ),
    findAccount,
    /** The account, which nobody else changes until the end of the transaction. */
    async lockAccount(id: number): Promise<Account> {
      await orm.select({ id: account.id }).from(account).where(eq(account.id, id)).for('update')
      return findAccount(id)
    },
    async findAccountByEmail(email: string): Promise<Account | undefined> {
      const [found] = await selectAccounts(orm, eq(account.email, storedEmail(email)))
      return found
    },
    /** By account. */
    async findEmails(ids: readonly number[]): Promise<Map<number, string>> {
      if (ids.length === 0) return new Map()
      const found = await orm
        .select({ id: account.id, email: account.email })
        .from(account)
        .where(inArray(account.id, [...ids]))
      return new Map(found.map(({ id, email }) => [id, email]))
    },
    suspendAccount: (id: number) => changeAccount(id, tx => setStatus(tx, id, 'suspended')),
    resumeAccount: (id: number) => changeAccount(id, tx => setStatus(tx, id, 'active')),
    /** Revokes its keys with it; the balance, the entries and the receipts stay. */
    closeAccount: (id: number) =>
      changeAccount(id, async tx => {
        await setStatus(tx, id, 'closed')
        await tx.update(account).set({ closeRequestedAt: null }).where(eq(account.id, id))
        const working = and(eq(apiKey.accountId, id), eq(apiKey.status, 'active'))
        await tx.update(apiKey).set({ status: 'revoked', revokedAt: sql`now()` }).where(working)
      }),
    /** Makes a closed one active again. Its keys stay revoked. */
    reopenAccount: (id: number) =>
      changeAccount(id, async tx => {
        if (isErased(await findAccount(id))) refuse(`Nobody knows whose account ${id} was: it was erased`)
        const closed = and(eq(account.id, id), eq(account.status, 'closed'))
        const changed = await tx.update(account).set({ status: 'active' }).where(closed).returning()
        if (changed.length === 0) refuse(`Account ${id} is not closed`)
      }),
    /** Takes the address out of a closed one, and what its keys were called and where they might be used. */
    eraseHolder: (id: number) =>
      changeAccount(id, async tx => {
        const { status, balanceNano, pendingNano, ...found } = await findAccount(id)
        if (status !== 'closed') refuse(`Account ${id} is not closed`)
        if (isErased(found)) refuse('Its holder was erased already')
        if (pendingNano > 0n) refuse('Its last requests are still running: try again in a minute')
        if (balanceNano !== 0n) refuse('There is a balance left: pay it out or write it off first')
        // Random, since a stranger may sign up with any address that can be guessed.
        const email = `${id}-${crypto.randomUUID().slice(0, 8)}@${ERASED}`
        await tx.update(account).set({ email }).where(eq(account.id, id))
        await tx.update(apiKey).set({ name: '', allowIps: null }).where(eq(apiKey.accountId, id))
      }),
    /** Notes since when its holder asks for it to be closed; undefined: they do not any more. */
    async requestClosing(id: number, at: Date | undefined): Promise<Account> {
      await orm
        .update(account)
        .set({ closeRequestedAt: at ?? null })
        .where(and(eq(account.id, id), ne(account.status, 'closed')))
      return findAccount(id)
    },
    changeLimits: (id: number, changes: LimitChanges) =>
      changeAccount(id, async tx => {
        const values = limitColumns(changes)
        if (Object.keys(values).length > 0) await tx.update(account).set(values).where(eq(account.id, id))
      }),
    /** Says whether content may be kept for the account; what is kept already stays until it expires. */
    allowStore: (id: number, allowed: boolean) =>
      changeAccount(id, tx => tx.update(account).set({ storeAllowed: allowed }).where(eq(account.id, id))),
    /** Replaces the models given to the account. */
    async setModels(id: number, models: readonly string[]): Promise<Account> {
      await findAccount(id)
      return changeAccount(id, async tx => {
        await tx.delete(accountModel).where(eq(accountModel.accountId, id))
        await insertModels(tx, id, models)
      }).catch(explain)
    },
  }
}

/** An id is also a part of many addresses, and whoever finds a key knows no account. */
function matches(search: string): SQL | undefined {
  const pattern = patternOf(search)
  const id = /^\d{1,15}$/.test(search.trim()) ? eq(account.id, Number(search.trim())) : undefined
  const lookup = /^sk-(.{8})/.exec(search.trim())?.[1]
  const ofKey =
    lookup === undefined
      ? undefined
      : sql`${account.id} = (select ${apiKey.accountId} from ${apiKey} where ${apiKey.lookup} = ${lookup})`
  return or(sql`${account.email} like ${pattern}`, id, ofKey)
}

/** All of them in order of id or, with a limit, the newest. */
async function selectAccounts(orm: Rows, where: SQL | undefined, limit?: number): Promise<Account[]> {
  const query = orm
    .select({
      account,
      wallet,
      models: GIVEN_MODELS,
    })
    .from(account)
    .leftJoin(wallet, eq(wallet.accountId, account.id))
    .where(where)
    .orderBy(limit === undefined ? asc(account.id) : desc(account.id))
  const rows = await (limit === undefined ? query : query.limit(limit))
  return rows.map(row => toAccount(row.account, row.wallet, row.models))
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

/** A broken constraint as a sentence for the operator; anything else as it is. */
function explain(error: unknown, taken?: string): never {
  const code = sqlErrorOf(error)?.code
  if (code === UNIQUE_VIOLATION && taken !== undefined) throw new Refusal(taken, { cause: error })
  if (code === FOREIGN_KEY_VIOLATION)
    throw new Refusal('One of these models does not exist', { cause: error })
  throw error
}

function isErased({ email }: Pick<Account, 'email'>): boolean {
  return email.endsWith(`@${ERASED}`)
}

function refuse(message: string): never {
  throw new Refusal(message)
}
