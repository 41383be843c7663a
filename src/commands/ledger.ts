import { postByHand } from '@/console/accounts/account-changes.ts'
import { COMMAND_LINE } from '@/console/acts.ts'
import { chargeLostOnes } from '@/console/money/lost-charges.ts'
import { makeCodes } from '@/console/money/redeem-codes.ts'
import type { Database } from '@/db/connect.ts'
import { Refusal } from '@/errors/refusal.ts'
import type { JsonObject } from '@/json/json.ts'
import { type AuditCheck, type AuditReport, audit } from '@/ledger/audit.ts'
import { ledgerStore } from '@/ledger/store.ts'
import { formatMoney, MONEY_BOUNDS, parseMoney } from '@/pricing/money.ts'
import {
  type Command,
  type OptionTypes,
  readArguments,
  readId,
  required,
  requiredReason,
  UsageError,
} from './command.ts'
import { withDatabase, withLedger } from './deployment.ts'
import { EXPIRES, readEnd } from './expiry.ts'
import { print, table } from './output.ts'

const creditCommand = posting('credit', 'add to the balance of an account, as paid for', {
  usage: ' [--expires T]',
  details: `\n--expires T  until when it can be used; what is left of it then is taken away. ${EXPIRES}`,
  types: { expires: 'text' },
})
const debitCommand = posting('debit', 'take from the balance of an account', {
  usage: '',
  details: `

It may be more than there is, as a payment that went back is: the balance is below zero then, and the next credit
pays that first.`,
  types: {},
})

/** A command that posts one entry; `more` is what only one of them takes or does. */
function posting(
  side: 'credit' | 'debit',
  summary: string,
  more: { usage: string; details: string; types: OptionTypes },
): Command {
  return {
    name: `account ${side}`,
    summary,
    usage: `ID AMOUNT --reason R${more.usage}`,
    details: `ID           the number that "account list" shows
AMOUNT       a decimal amount above 0, as in 5.00
--reason R   why; it stays with the entry${more.details}`,
    async run(args, io) {
      const words = readArguments(args, { reason: 'text', ...more.types }, ['ID', 'AMOUNT'])
      const accountId = readId(words.positionals[0] ?? '', 'ID')
      const amountNano = readAmount(words.positionals[1] ?? '', 'AMOUNT')
      const reason = requiredReason(words)
      const expiresAt = readEnd(words, io.now())
      const posted = await withLedger(io, database =>
        postByHand({ database }, COMMAND_LINE, { accountId, side, amountNano, reason, expiresAt }),
      )
      print(io, words.json, posted, () => `entry ${posted.entry_id}\nbalance ${posted.balance}`)
      return 0
    },
  }
}

const redeemCreateCommand: Command = {
  name: 'redeem create',
  summary: 'make redeem codes, which are shown this once',
  usage: '--amount 5.00 [--uses 1] [--count 10] [--expires T] [--credit-expires T]',
  details: `--amount A          what one use is worth
--uses N            how many accounts may use each code, once each; 1 unless said
--count N           how many codes; 1 unless said
--expires T         until when they can be redeemed. ${EXPIRES}
--credit-expires T  until when what they give can be used; what is left of it then is taken away`,
  async run(args, io) {
    const words = readArguments(args, {
      amount: 'text',
      uses: 'text',
      count: 'text',
      expires: 'text',
      'credit-expires': 'text',
    })
    const amountNano = readAmount(required(words, 'amount'), '--amount')
    const uses = readCount(words.texts['uses'], '--uses', 1_000_000_000)
    const count = readCount(words.texts['count'], '--count', 10_000)
    const expiresAt = readEnd(words, io.now())
    const creditExpiresAt = readEnd(words, io.now(), 'credit-expires')
    const codes = await withDatabase(io, database =>
      makeCodes({ database }, COMMAND_LINE, { amountNano, uses, count, expiresAt, creditExpiresAt }),
    )
    print(io, words.json, codes, () => codes.join('\n'))
    return 0
  },
}

const auditCommand: Command = {
  name: 'audit',
  summary: 'check that the ledger holds; exit 0 only if it does',
  usage: '[--since-checkpoint] [--account ID]',
  details: `--since-checkpoint  only what came after the last good audit
--account ID        only this account

An account whose wallet is not what its entries say is suspended.`,
  async run(args, io) {
    const words = readArguments(args, { 'since-checkpoint': 'flag', account: 'text' })
    const account = words.texts['account']
    const accountId = account === undefined ? undefined : readId(account, '--account')
    const sinceCheckpoint = words.flags.has('since-checkpoint')
    const report = await withLedger(io, async db => {
      if (accountId !== undefined) await assertAccount(db, accountId)
      return audit(db.url, { sinceCheckpoint, by: 'cli', accountId })
    })
    print(io, words.json, rowOf(report), () => describe(report))
    return report.ok ? 0 : 1
  },
}

const chargeLostCommand: Command = {
  name: 'charge lost',
  summary: 'charge what results say that requests cost, where the charge was lost',
  usage: '--reason R [--write-off]',
  details: `--reason R   why; it stays in the log
--write-off  give each back at once, for that reason: the account pays nothing, and the books tell of both

A copy of the database that takes over without what was committed last lacks charges whose results are stored later, and of
a damaged journal not every charge can be posted. The audit names them ("exchanges"). What may still be posted by itself
is left alone, but for what a machine that is down keeps on its disk: start all of them first. What was made more than an
hour before its account, or stored more than a minute before it, and not charged, is of another that had the same id
before a backup was restored: it is neither charged nor named.`,
  async run(args, io) {
    const words = readArguments(args, { reason: 'text', 'write-off': 'flag' })
    const order = { reason: requiredReason(words), isWrittenOff: words.flags.has('write-off') }
    const charges = await withLedger(io, database => chargeLostOnes({ database }, COMMAND_LINE, order))
    const rows = charges.map(({ id, accountId, chargedNano }) => ({
      request_id: id,
      account_id: accountId,
      charged: formatMoney(chargedNano),
    }))
    print(io, words.json, { requests: rows, written_off: order.isWrittenOff }, () =>
      table(
        ['request', 'account', order.isWrittenOff ? 'written off' : 'charged'],
        rows.map(row => [row.request_id, String(row.account_id), row.charged]),
      ),
    )
    return 0
  },
}

/** What moves or checks money: `credit`, `debit`, redeem codes, the audit, and charges that were lost. */
export const ledgerCommands: readonly Command[] = [
  creditCommand,
  debitCommand,
  redeemCreateCommand,
  auditCommand,
  chargeLostCommand,
]

/** A typing error must not look like an account that is in order. */
async function assertAccount(db: Database, accountId: number): Promise<void> {
  if ((await ledgerStore(db).balance(accountId)) !== undefined) return
  throw new Refusal(`There is no account ${accountId}`)
}

function readAmount(text: string, what: string): bigint {
  const nano = parseMoney(text)
  if (nano !== undefined && nano > 0n) return nano
  throw new UsageError(
    `${what} is "${text}" but must be a decimal amount above 0, as in 5.00; ${MONEY_BOUNDS}`,
  )
}

function readCount(text: string | undefined, what: string, most: number): number {
  const number = text === undefined ? 1 : /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (number >= 1 && number <= most) return number
  throw new UsageError(`${what} is "${text}" but must be a whole number from 1 to ${most}`)
}

function rowOf({ ok, checks, suspendedAccounts }: AuditReport) {
  return { ok, checks: checks.map(checkRow), suspended: [...suspendedAccounts] } satisfies JsonObject
}

function checkRow(check: AuditCheck) {
  return {
    name: check.name,
    title: check.title,
    ok: check.count === 0 || check.informational,
    count: check.count,
    difference: formatMoney(check.differenceNano),
    first: [...check.first],
    informational: check.informational,
  } satisfies JsonObject
}

function describe({ ok, checks, suspendedAccounts }: AuditReport): string {
  const rows = checks.map(checkRow)
  const overview = table(
    ['check', '', 'count', 'difference', 'what holds'],
    rows.map(row => [row.name, verdict(row), String(row.count), row.difference, row.title]),
  )
  const findings = rows.flatMap(({ name, first }) => first.map(text => `${name}: ${text}`))
  const suspensions = suspendedAccounts.map(id => `account ${id} was suspended`)
  return [overview, ...findings, ...suspensions, ok ? 'the ledger holds' : 'THE LEDGER DOES NOT HOLD'].join(
    '\n',
  )
}

function verdict(row: { ok: boolean; informational: boolean }): string {
  if (row.informational) return 'note'
  return row.ok ? 'ok' : 'BROKEN'
}
