import { eq, inArray } from 'drizzle-orm'
import type { Database, Rows } from '@/db/connect.ts'
import { creditNotice } from '@/db/schema.ts'
import { formatMoney } from '@/pricing/money.ts'
import { loadConsoleEntry } from '../console-entry.ts'
import type { Console } from '../deployment.ts'
import { addressRefusal, type Mail } from '../mail.ts'

/** A mail to the holder when the balance has fallen below an amount of theirs: one for each time that it falls. */

const EVERY_MS = 60_000

/** Below which balance the holder gets a mail, in nano; undefined: below none. */
export async function readCreditNotice(rows: Rows, accountId: number): Promise<bigint | undefined> {
  const [row] = await rows.select().from(creditNotice).where(eq(creditNotice.accountId, accountId))
  return row?.belowNano
}

/** From now on below this; undefined: no mail any more. Whose balance is below it already gets one, unless it was told before. */
export async function setCreditNotice(
  rows: Rows,
  accountId: number,
  belowNano: bigint | undefined,
): Promise<void> {
  if (belowNano === undefined) {
    await rows.delete(creditNotice).where(eq(creditNotice.accountId, accountId))
    return
  }
  await rows
    .insert(creditNotice)
    .values({ accountId, belowNano })
    .onConflictDoUpdate({ target: creditNotice.accountId, set: { belowNano } })
}

/** What the mails need of the console. */
type Teller = Pick<Console, 'database' | 'secretBox' | 'catalog' | 'clock' | 'log' | 'sendMail' | 'publicUrl'>

/** Sends what is due, unless nothing can be mailed. What could not be sent is due again the next time. */
export async function tellOfLowCredit(teller: Teller, signal?: AbortSignal): Promise<void> {
  const { database, secretBox, sendMail, log } = teller
  const { sql } = database
  const { smtp } = await loadConsoleEntry(database.orm, secretBox)
  if (smtp === undefined) return
  await sql`
    update credit_notice n set told_at = null from wallet w
    where w.account_id = n.account_id and n.told_at is not null and w.credits - w.debits >= n.below_nano`
  const again: number[] = []
  try {
    while (signal?.aborted !== true) {
      const low = await takeNext(database)
      if (low === undefined) return
      const account = Number(low.accountId)
      try {
        await sendMail(smtp, mailOf(teller, low))
      } catch (error) {
        log.warn({ err: error, account }, 'a mail about low credit could not be sent')
        const refusal = addressRefusal(error)
        if (refusal !== 'for good') again.push(account)
        // The next one would wait for the same server.
        if (refusal === undefined) return
      }
    }
  } finally {
    const isAgain = inArray(creditNotice.accountId, again)
    await database.orm.update(creditNotice).set({ toldAt: null }).where(isAgain)
  }
}

interface LowCredit {
  accountId: bigint
  email: string
  balanceNano: bigint
  belowNano: bigint
}

/** Whose mail is due, and marks it as sent before it is, so that no other process sends it as well. */
async function takeNext({ sql }: Database): Promise<LowCredit | undefined> {
  const [low] = await sql<LowCredit[]>`
    with low as (
      select n.account_id, a.email, w.credits - w.debits as balance, n.below_nano
      from credit_notice n join wallet w using (account_id) join account a on a.id = n.account_id
      where n.told_at is null and w.credits - w.debits < n.below_nano and a.status = 'active'
      limit 1 for update of n skip locked
    )
    update credit_notice n set told_at = now() from low where n.account_id = low.account_id
    returning n.account_id as "accountId", low.email, low.balance as "balanceNano", low.below_nano as "belowNano"`
  return low
}

function mailOf({ catalog, publicUrl }: Teller, { email, balanceNano, belowNano }: LowCredit): Mail {
  const { currency } = catalog.defaults()
  const [balance, below] = [balanceNano, belowNano].map(nano => `${inWords(nano)} ${currency}`)
  return {
    to: email,
    subject: `Tollgate: ${balance} left`,
    text: `The balance of ${email} is ${balance}, which is below the ${below} that you wanted to be told of.

When it is used up, requests are refused. Add credit, or change this notice:

${publicUrl()}/billing

There is no other mail until the balance has been ${below} or more again.
`,
  }
}

/** Every digit that counts, and at least two places. */
function inWords(nano: bigint): string {
  return formatMoney(nano).replace(/(\.\d\d\d*?)0*$/, '$1')
}

/** Sends them from now on; ends with the returned function. */
export function keepTellingOfLowCredit(teller: Teller): () => Promise<void> {
  const ending = new AbortController()
  let running: Promise<void> | undefined
  const run = () => {
    running ??= tellOfLowCredit(teller, ending.signal)
      .catch(error => teller.log.error({ err: error }, 'it could not be told whose credit is low'))
      .finally(() => {
        running = undefined
      })
  }
  const cancel = teller.clock.every(EVERY_MS, run)
  return async () => {
    cancel()
    ending.abort()
    await running
  }
}
