import { rawSqlOf } from '@/db/connect.ts'
import { hashCode, mintCode } from '@/ledger/redeem-code.ts'
import { createCodes } from '@/ledger/store.ts'
import type { CodeTerms } from '@/ledger/types.ts'
import { formatMoney } from '@/pricing/money.ts'
import { type Actor, administer } from '../acts.ts'
import type { Console } from '../deployment.ts'

/** What codes are made. */
interface NewCodes extends CodeTerms {
  count: number
}

/** Makes redeem codes, which are known to nobody but who is given them here, and writes down that. */
export function makeCodes(
  where: Pick<Console, 'database'>,
  actor: Actor,
  { count, ...terms }: NewCodes,
): Promise<string[]> {
  const codes = Array.from({ length: count }, mintCode)
  const hashes = codes.map(hashCode)
  return administer(where, actor, async tx => {
    await createCodes(rawSqlOf(tx), hashes, terms)
    const after = {
      amount: formatMoney(terms.amountNano),
      uses: terms.uses,
      count,
      expires_at: terms.expiresAt?.toISOString() ?? null,
      credit_expires_at: terms.creditExpiresAt?.toISOString() ?? null,
    }
    const target = count === 1 ? `code ${codeId(hashes[0])}` : `${count} codes`
    return { result: codes, act: { action: 'redeem.create', target, before: null, after } }
  })
}

/** What a code is called in lists and logs, as the ledger's entries name it, too. */
export function codeId(hash: Uint8Array | undefined): string {
  return Buffer.from(hash ?? [])
    .toString('hex')
    .slice(0, 16)
}
