import type { Account } from '@/accounts/account.ts'
import { accountStore } from '@/accounts/store.ts'
import { type AccountChange, changeAccount, statusOf } from '@/console/accounts/account-changes.ts'
import { closeAccount, eraseHolder, reopenAccount } from '@/console/accounts/closing.ts'
import { limitsRow } from '@/console/accounts/key-rows.ts'
import { administer, COMMAND_LINE } from '@/console/acts.ts'
import type { Database } from '@/db/connect.ts'
import type { JsonObject } from '@/json/json.ts'
import type { Remainder } from '@/ledger/burn-down.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { formatMoney, MONEY_BOUNDS, parseMoney } from '@/pricing/money.ts'
import { loadDefaults } from '@/routing/catalog/defaults.ts'
import {
  type Command,
  type CommandIo,
  readArguments,
  readId,
  readList,
  requiredEmail,
  requiredReason,
  UsageError,
} from './command.ts'
import { withDatabase, withLedger } from './deployment.ts'
import { idCommand, type Subject } from './id-command.ts'
import { limitsCommand } from './limit-options.ts'
import { resolveModels } from './model-names.ts'
import { list, print, table } from './output.ts'

const createCommand: Command = {
  name: 'account create',
  summary: 'make an account',
  usage: '--email E [--credit 5.00] [--models a,b] [--no-store]',
  details: `--email E     whose account it is; one account each
--credit C    what it may spend; without it, the deployment's trial credit
--models a,b  models it may use beside those that every account may
--no-store    never keep content for it, whatever its callers ask for`,
  async run(args, io) {
    const words = readArguments(args, { email: 'text', credit: 'text', models: 'text', 'no-store': 'flag' })
    const email = requiredEmail(words)
    const credit = words.texts['credit']
    const paid = credit === undefined ? undefined : readCredit(credit)
    const account = await withLedger(io, async db => {
      const creditNano = paid ?? readCredit((await loadDefaults(db)).trialCredit)
      const models = (await resolveModels(db, readList(words.texts['models']))) ?? []
      return administer({ database: db }, COMMAND_LINE, async tx => {
        const storeAllowed = !words.flags.has('no-store')
        const made = { email, creditNano, onTrial: paid === undefined, models, storeAllowed }
        const result = await accountStore({ orm: tx }).createAccount(made)
        const after = { email, credit: formatMoney(creditNano), models, store: storeAllowed }
        const act = { action: 'account.create', target: `account ${result.id}`, before: null, after }
        return { result, act }
      })
    })
    const { id, balance } = rowOf(account)
    print(io, words.json, { id, email: account.email, balance }, () => describe(account))
    return 0
  },
}

const listCommand: Command = {
  name: 'account list',
  summary: 'list all accounts',
  usage: '',
  details: '',
  async run(args, io) {
    const { json } = readArguments(args, {})
    const accounts = await withDatabase(io, db => accountStore(db).listAccounts())
    print(io, json, accounts.map(rowOf), () =>
      table(
        ['id', 'email', 'status', 'balance', 'models'],
        accounts.map(account => [
          String(account.id),
          account.email,
          account.status,
          formatMoney(account.balanceNano),
          account.models.join(','),
        ]),
      ),
    )
    return 0
  },
}

const SUBJECT: Subject<Account> = { noun: 'account', show }

/** An account, and what of its credit has an end. */
const STANDING: Subject<{ account: Account; expiring: readonly Remainder[] }> = {
  noun: 'account',
  show(io, json, { account, expiring }) {
    const credit = expiring.map(({ remainderNano, grant }) => ({
      amount: formatMoney(remainderNano),
      expires_at: grant.expiresAt?.toISOString() ?? null,
    }))
    const lines = credit.map(({ amount, expires_at }) => ['expiring', `${amount} at ${expires_at}`] as const)
    print(io, json, { ...rowOf(account), expiring: credit }, () => describe(account, lines))
  },
}

const showCommand = idCommand(STANDING, 'show', 'show one account', async (db, id) => ({
  account: await accountStore(db).findAccount(id),
  expiring: await ledgerStore(db).expiringCredit(id),
}))
const suspendCommand = idCommand(SUBJECT, 'suspend', 'refuse every request of an account', (db, id) =>
  change(db, { id, action: 'account.suspend', shown: statusOf, work: store => store.suspendAccount(id) }),
)
const resumeCommand = idCommand(SUBJECT, 'resume', 'serve a suspended account again', (db, id) =>
  change(db, { id, action: 'account.resume', shown: statusOf, work: store => store.resumeAccount(id) }),
)

const closeCommand = closing('close', 'end an account: revoke its keys, sign its holder out', closeAccount)
const reopenCommand = closing('reopen', 'make a closed account active again, without its keys', reopenAccount)
const eraseCommand = closing(
  'erase',
  'forget who the holder of a closed account was; the books stay',
  eraseHolder,
)

/** A command that closes an account, reopens it or forgets its holder. */
function closing(verb: string, summary: string, act: typeof closeAccount): Command {
  return {
    name: `account ${verb}`,
    summary,
    usage: 'ID --reason R',
    details: `ID          the number that "account list" shows
--reason R  why; it stays in the log`,
    async run(args, io) {
      const words = readArguments(args, { reason: 'text' }, ['ID'])
      const order = { id: readId(words.positionals[0] ?? '', 'ID'), reason: requiredReason(words) }
      const account = await withDatabase(io, database => act({ database }, COMMAND_LINE, order))
      show(io, words.json, account)
      return 0
    },
  }
}

const limitsOfAccount = limitsCommand(SUBJECT, (db, id, changes) =>
  change(db, {
    id,
    action: 'account.limits',
    shown: account => limitsRow(account.limits),
    work: store => store.changeLimits(id, changes),
  }),
)

const STORE_WORDS = ['allow', 'forbid'] as const

const storeCommand: Command = {
  name: 'account store',
  summary: 'say whether content may be kept for an account',
  usage: `ID ${STORE_WORDS.join('|')}`,
  details: `allow   responses are kept where a caller asks for it ("store": true)
forbid  such requests are refused; what is kept already stays until it expires`,
  async run(args, io) {
    const { json, positionals } = readArguments(args, {}, ['ID', STORE_WORDS.join('|')])
    const [idWord = '', word] = positionals
    const choice = STORE_WORDS.find(candidate => candidate === word)
    if (choice === undefined) throw new UsageError(`"${word}" is neither ${STORE_WORDS.join(' nor ')}`)
    const id = readId(idWord, 'ID')
    const account = await withDatabase(io, db =>
      change(db, {
        id,
        action: 'account.store',
        shown: ({ storeAllowed }) => ({ store: storeAllowed }),
        work: store => store.allowStore(id, choice === 'allow'),
      }),
    )
    show(io, json, account)
    return 0
  },
}

/** `account ...`: accounts, their limits and what may be stored for them. */
export const accountCommands: readonly Command[] = [
  createCommand,
  listCommand,
  showCommand,
  suspendCommand,
  resumeCommand,
  closeCommand,
  reopenCommand,
  eraseCommand,
  limitsOfAccount,
  storeCommand,
]

function change(database: Database, made: AccountChange): Promise<Account> {
  return changeAccount({ database }, COMMAND_LINE, made)
}

function show(io: CommandIo, json: boolean, account: Account): void {
  print(io, json, rowOf(account), () => describe(account))
}

function readCredit(text: string): bigint {
  const nano = parseMoney(text)
  if (nano !== undefined && nano >= 0n) return nano
  throw new UsageError(
    `--credit is "${text}" but must be a decimal amount of 0 or more, as in 5.00; ${MONEY_BOUNDS}`,
  )
}

/** An account as `--json` shows it. */
function rowOf(account: Account) {
  return {
    id: account.id,
    email: account.email,
    status: account.status,
    balance: formatMoney(account.balanceNano),
    available: formatMoney(account.availableNano),
    pending: formatMoney(account.pendingNano),
    on_trial: account.onTrial,
    models: [...account.models],
    limits: limitsRow(account.limits),
    store: account.storeAllowed,
    created_at: account.createdAt.toISOString(),
  } satisfies JsonObject
}

/** `credit`: lines that belong to the balance. */
function describe(account: Account, credit: readonly (readonly [string, string])[] = []): string {
  const row = rowOf(account)
  const limit = (value: number | null) => (value === null ? 'default' : String(value))
  return list([
    ['id', String(row.id)],
    ['email', row.email],
    ['status', row.on_trial ? `${row.status}, on trial` : row.status],
    ['balance', row.balance],
    ...credit,
    ['available', row.available],
    ['pending', row.pending],
    ['models', ['those of every account', ...row.models].join(', ')],
    ['requests per minute', limit(row.limits.requests_per_minute)],
    ['tokens per minute', limit(row.limits.tokens_per_minute)],
    ['concurrent requests', limit(row.limits.concurrent_requests)],
    ['store', row.store ? 'allowed' : 'forbidden'],
    ['created', row.created_at],
  ])
}
