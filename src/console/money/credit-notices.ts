import { eq, sql } from 'drizzle-orm'
import { untilEnded } from '@/clock/regularly.ts'
import type { Database, Rows } from '@/db/connect.ts'
import { creditNotice, wallet } from '@/db/schema.ts'
import { formatMoney } from '@/pricing/money.ts'
import { loadConsoleEntry } from '../console-entry.ts'
import type { Console } from '../deployment.ts'
import { type Mail, mailRefusal } from '../mail.ts'

/**
 * A mail to the holder whose balance is below an amount of theirs, and another one only after credit was added: a balance
 * rises in no other way.
 */

const EVERY_MS = 60_000

/** Below which balance the holder gets a mail, in nano; undefined: below none. */
export async function readCreditNotice(rows: Rows, accountId: number): Promise<bigint | undefined> {
  const [row] = await rows.select().from(creditNotice).where(eq(creditNotice.accountId, accountId))
  return row?.belowNano
}

/** From now on below this; undefined: no mail any more. Whose balance is below it already gets one, unless they were told. */
export async function setCreditNotice(
  rows: Rows,
  accountId: number,
  belowNano: bigint | undefined,
): Promise<void> {
  if (belowNano === undefined) {
    await rows.delete(creditNotice).where(eq(creditNotice.accountId, accountId))
    return
  }
  const balance = sql`(select ${wallet.credits} - ${wallet.debits} from ${wallet} where ${wallet.accountId} = ${accountId})`
  const toldCredits = sql`case when ${balance} < ${belowNano} then ${creditNotice.toldCredits} end`
  await rows
    .insert(creditNotice)
    .values({ accountId, belowNano })
    .onConflictDoUpdate({ target: creditNotice.accountId, set: { belowNano, toldCredits } })
}

/** What the mails need of the console. */
type Teller = Pick<Console, 'database' | 'secretBox' | 'catalog' | 'clock' | 'log' | 'sendMail' | 'publicUrl'>

/** Sends what is due, unless nothing can be mailed. What could not be sent is due again the next time. */
export async function tellOfLowCredit(teller: Teller, signal: AbortSignal): Promise<void> {
  const { database, secretBox, sendMail, log } = teller
  const { smtp } = await loadConsoleEntry(database.orm, secretBox)
  if (smtp === undefined) return
  let low = await takeNext(database, 0n)
  for (; low !== undefined; low = await takeNext(database, low.accountId)) {
    const accountId = Number(low.accountId)
    try {
      signal.throwIfAborted()
      await unlessAborted(sendMail(smtp, mailOf(teller, low)), signal)
    } catch (error) {
      const refusal = mailRefusal(error)
      if (refusal !== 'for good') {
        const isIt = eq(creditNotice.accountId, accountId)
        await database.orm.update(creditNotice).set({ toldCredits: null }).where(isIt)
      }
      if (signal.aborted) return
      log.warn({ err: error, account: accountId }, 'a mail about low credit could not be sent')
      if (refusal === undefined) return
    }
  }
}

/** A server may be silent for longer than a process that stops can wait. */
function unlessAborted(sent: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason)
    if (signal.aborted) giveUp()
    signal.addEventListener('abort', giveUp)
    sent.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })
}

interface LowCredit {
  accountId: bigint
  email: string
  balanceNano: bigint
  belowNano: bigint
}

/** The next account whose mail is due; it is marked as sent before it is, so that no other process sends it as well. */
async function takeNext({ sql }: Database, after: bigint): Promise<LowCredit | undefined> {
  const [low] = await sql<LowCredit[]>`
    with low as (
      select n.account_id, u.email, w.credits, w.credits - w.debits as balance
      from credit_notice n join wallet w using (account_id) join account a on a.id = n.account_id
        join console_user u on u.account_id = n.account_id
      where n.account_id > ${after} and w.credits - w.debits < n.below_nano
        and (n.told_credits is null or n.told_credits < w.credits) and a.status = 'active' and u.status = 'active'
      order by n.account_id limit 1 for update of n skip locked
    )
    update credit_notice n set told_credits = low.credits from low where n.account_id = low.account_id
    returning n.account_id as "accountId", low.email, low.balance as "balanceNano", n.below_nano as "belowNano"`
  return low
}

function mailOf({ catalog, publicUrl }: Teller, { email, balanceNano, belowNano }: LowCredit): Mail {
  const { currency } = catalog.defaults()
  const [balance, below] = [balanceNano, belowNano].map(nano => `${inWords(nano)} ${currency}`)
  const isUsedUp = balanceNano <= 0n
  return {
    to: email,
    subject: isUsedUp ? 'Tollgate: your credit is used up' : `Tollgate: ${balance} left`,
    text: `The balance of ${email} is ${balance}, which is below the ${below} that you wanted to be told of.

${isUsedUp ? 'Requests are refused.' : 'When it is used up, requests are refused.'} Add credit, or change this notice:

${publicUrl()}/billing

There is no other mail until credit is added.
`,
  }
}

/** Every digit that counts, and at least two places. */
function inWords(nano: bigint): string {
  return formatMoney(nano).replace(/(\.\d\d\d*?)0*$/, '$1')
}

/** Sends them from now on; ends with the returned function. */
export function keepTellingOfLowCredit(teller: Teller): () => Promise<void> {
  return untilEnded(EVERY_MS, signal => tellOfLowCredit(teller, signal), {
    clock: teller.clock,
    onFailure: error => teller.log.error({ err: error }, 'it could not be told whose credit is low'),
  })
}
