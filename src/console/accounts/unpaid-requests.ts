import type { Database } from '@/db/connect.ts'
import { firstIdAt, momentOf } from '../requests/request-log.ts'

/** Of so many requests it is known: no index tells how one ended. */
const LOOKED_AT = 100

/**
 * When the newest request of an account came that its credit did not pay for, of the newest ones since a moment and since
 * credit was last put in. An account that has some left is refused as well: what a request may cost at most is more.
 */
export async function findUnpaid(
  { sql }: Pick<Database, 'sql'>,
  accountId: number,
  since: Date,
): Promise<Date | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from (
      select id, status, error_code from exchange
      where account_id = ${accountId} and id >= greatest(${firstIdAt(since)}::uuid,
        (select entry_id from ledger_grant where account_id = ${accountId} order by entry_id desc limit 1))
      order by id desc limit ${LOOKED_AT}) newest
    where status = 402 and error_code = 'credit_exhausted' order by id desc limit 1`
  return row && momentOf(row.id)
}
