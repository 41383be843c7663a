import type { Account, ApiKey, SpendCap } from '@/accounts/account.ts'
import { keyStore, type NewKey } from '@/accounts/key-store.ts'
import { accountStore } from '@/accounts/store.ts'
import { TITLE } from '@/config/title.ts'
import { changeKey, type KeyChange, limitsOf, revocationOf } from '@/console/accounts/key-changes.ts'
import { keyStatus, limitsRow } from '@/console/accounts/key-rows.ts'
import { administer, COMMAND_LINE } from '@/console/acts.ts'
import type { Database } from '@/db/connect.ts'
import type { CapPeriod } from '@/db/schema.ts'
import { Refusal } from '@/errors/refusal.ts'
import type { JsonObject } from '@/json/json.ts'
import { isRange } from '@/net/ip-range.ts'
import { formatMoney, MONEY_BOUNDS, parseMoney } from '@/pricing/money.ts'
import { type Command, readArguments, readId, readList, required, UsageError } from './command.ts'
import { withDatabase } from './deployment.ts'
import { EXPIRES, readEnd } from './expiry.ts'
import { idCommand, type Subject } from './id-command.ts'
import { LIMIT_OPTIONS, limitsCommand, readLimits } from './limit-options.ts'
import { resolveModels } from './model-names.ts'
import { print, table } from './output.ts'

const CAP_PERIODS = ['day', 'week', 'month', 'total'] as const satisfies readonly CapPeriod[]

const createCommand: Command = {
  name: 'key create',
  summary: 'make a key, which is shown this once',
  usage:
    '--account ID [--name N] [--models a,b] [--expires T] [--cap 2.00/month] [--allow-ip CIDR,...] [--no-store]' +
    ' [--rpm N] [--tpm N] [--concurrent N]',
  details: `--account ID         who pays
--name N             what to call it in lists
--models a,b         narrows the key to these models of the account
--expires T          ${EXPIRES}
--cap A/PERIOD       most it may spend per ${CAP_PERIODS.join(', ')}
--allow-ip CIDR,...  addresses and ranges it may be used from
--no-store           never keep content for what it asks
--rpm N, --tpm N, --concurrent N
                     its own limits: requests and tokens per minute, requests at once`,
  async run(args, io) {
    const words = readArguments(args, {
      account: 'text',
      name: 'text',
      models: 'text',
      expires: 'text',
      cap: 'text',
      'allow-ip': 'text',
      'no-store': 'flag',
      ...LIMIT_OPTIONS,
    })
    const { texts } = words
    const input = {
      accountId: readId(required(words, 'account'), '--account'),
      name: readName(texts['name'] ?? ''),
      expiresAt: readEnd(words, io.now()),
      allowIps: readRanges(texts['allow-ip']),
      cap: texts['cap'] === undefined ? undefined : readCap(texts['cap']),
      storeAllowed: !words.flags.has('no-store'),
      limits: readLimits(texts),
    } satisfies Omit<NewKey, 'models'>
    const names = readNames(texts['models'], 'models')
    const { id, key } = await withDatabase(io, async db => {
      const models = await resolveModels(db, names)
      return administer({ database: db }, COMMAND_LINE, async tx => {
        const result = await keyStore({ orm: tx }).createKey({ ...input, models })
        // Not what it is called: that is forgotten with the holder, and the log forgets nothing.
        const after = { account_id: input.accountId }
        const act = { action: 'key.create', target: `key ${result.id}`, before: null, after }
        return { result, act }
      })
    })
    print(
      io,
      words.json,
      { id, key },
      () => `${key}\n\nThis is key ${id}. It is not shown again: keep it now.`,
    )
    return 0
  },
}

const listCommand: Command = {
  name: 'key list',
  summary: 'list the keys of an account',
  usage: '--account ID',
  details: '--account ID  the number that "account list" shows',
  async run(args, io) {
    const words = readArguments(args, { account: 'text' })
    const accountId = readId(required(words, 'account'), '--account')
    const keys = await withDatabase(io, async db => {
      const account = await accountStore(db).findAccount(accountId)
      return (await keyStore(db).listKeys(accountId)).map(key => ({ key, account }))
    })
    const rows = keys.map(standing => rowOf(standing, io.now()))
    print(io, words.json, rows, () => keyTable(rows))
    return 0
  },
}

/** A key, and whose it is: a key of an account that is not served lets nobody in. */
interface Standing {
  key: ApiKey
  account: Account
}

const SUBJECT: Subject<Standing> = {
  noun: 'key',
  show(io, json, standing) {
    const row = rowOf(standing, io.now())
    print(io, json, row, () => keyTable([row]))
  },
}

const limitsOfKey = limitsCommand(SUBJECT, (db, id, changes) =>
  change(db, {
    id,
    action: 'key.limits',
    shown: limitsOf,
    work: store => store.changeKeyLimits(id, changes),
  }),
)

const revokeCommand = idCommand(SUBJECT, 'revoke', 'refuse a key from now on, for good', (db, id) =>
  change(db, { id, action: 'key.revoke', shown: revocationOf, work: store => store.revokeKey(id) }),
)

/** `key ...`: an account's API keys. */
export const keyCommands: readonly Command[] = [createCommand, listCommand, limitsOfKey, revokeCommand]

async function change(database: Database, made: KeyChange): Promise<Standing> {
  const key = await changeKey({ database }, COMMAND_LINE, made)
  if (key === undefined) throw new Refusal(`There is no key ${made.id}`)
  return { key, account: await accountStore(database).findAccount(key.accountId) }
}

/** As the console asks for it: a name stands in the rows of lists. */
function readName(text: string): string {
  if (text.trim() === '' || TITLE.test(text)) return text.trim()
  throw new UsageError('--name must be one line of at most 200 characters, with something to see in it')
}

function readCap(text: string): SpendCap {
  const [amount = '', word = '', ...more] = text.split('/')
  const amountNano = parseMoney(amount)
  const period = CAP_PERIODS.find(candidate => candidate === word)
  if (amountNano === 0n) {
    throw new UsageError(
      `--cap is "${text}", by which the key could spend nothing: leave it out for no cap, or revoke the key`,
    )
  }
  if (amountNano !== undefined && amountNano > 0n && period !== undefined && more.length === 0) {
    return { amountNano, period }
  }
  throw new UsageError(
    `--cap is "${text}" but must be an amount per ${CAP_PERIODS.join(', ')}, as in 2.00/month; ${MONEY_BOUNDS}`,
  )
}

function readRanges(text: string | undefined): string[] | undefined {
  const ranges = readNames(text, 'allow-ip')
  const wrong = ranges?.find(range => !isRange(range))
  if (wrong === undefined) return ranges
  throw new UsageError(`--allow-ip holds "${wrong}" but must hold addresses or ranges, as in 10.0.0.0/8`)
}

/** An empty list would be a key that reaches nothing, which nobody means by an empty option. */
function readNames(text: string | undefined, option: string): string[] | undefined {
  const names = readList(text)
  if (names?.length === 0) throw new UsageError(`--${option} is empty`)
  return names
}

/** A key as `--json` shows it. */
function rowOf({ key, account }: Standing, now: number) {
  return {
    id: key.id,
    account_id: key.accountId,
    name: key.name,
    prefix: `sk-${key.lookup}`,
    status: keyStatus(key, account, now),
    models: key.models === undefined ? null : [...key.models],
    expires_at: key.expiresAt?.toISOString() ?? null,
    allow_ips: key.allowIps === undefined ? null : [...key.allowIps],
    cap: key.cap === undefined ? null : { amount: formatMoney(key.cap.amountNano), period: key.cap.period },
    store: key.storeAllowed,
    limits: limitsRow(key.limits),
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  } satisfies JsonObject
}

function keyTable(rows: readonly ReturnType<typeof rowOf>[]): string {
  return table(
    ['id', 'name', 'key', 'status', 'models', 'expires', 'cap', 'last used'],
    rows.map(row => [
      String(row.id),
      row.name,
      `${row.prefix}...`,
      row.status,
      row.models?.join(',') ?? 'all',
      row.expires_at ?? 'never',
      row.cap === null ? 'none' : `${row.cap.amount}/${row.cap.period}`,
      row.last_used_at ?? 'never',
    ]),
  )
}
