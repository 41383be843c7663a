import { between } from 'drizzle-orm'
import { rawSqlOf, type Transaction } from '@/db/connect.ts'
import { redeemCode } from '@/db/schema.ts'
import { hashCode, mintCode } from '@/ledger/redeem-code.ts'
import { createCodes, revokeCode } from '@/ledger/store.ts'
import type { CodeTerms } from '@/ledger/types.ts'
import { formatMoney } from '@/pricing/money.ts'
import { type Actor, administer } from '../acts.ts'
import type { Console } from '../deployment.ts'
import { ConsoleError, notFound } from '../failure.ts'

/** A code, of which only the hash is known. */
export type StoredCode = typeof redeemCode.$inferSelect

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
    const after = { ...shownOf(terms), count }
    const target = count === 1 ? `code ${codeId(hashes[0])}` : `${count} codes`
    return { result: codes, act: { action: 'redeem.create', target, before: null, after } }
  })
}

/**
 * Takes back the uses that are left of a code, and writes down that.
 * @throws ConsoleError `not_found`; `refused` where none are left to take back
 */
export function takeCodeBack(
  where: Pick<Console, 'database'>,
  actor: Actor,
  id: string,
): Promise<StoredCode> {
  return administer(where, actor, async tx => {
    const { codeHash } = await findCode(tx, id)
    const isRevoked = await revokeCode(rawSqlOf(tx), codeHash)
    // Whoever redeems it at this moment has done so by now, or gets nothing.
    const code = await findCode(tx, id)
    if (!isRevoked) {
      const why = code.revokedAt === null ? 'has been used as often as it can be' : 'was taken back already'
      throw new ConsoleError('refused', `This code ${why}`)
    }
    const before = { ...shownOf({ ...code, amountNano: code.amount, uses: code.maxUses }), used: code.uses }
    const after = { ...before, revoked_at: code.revokedAt?.toISOString() ?? null }
    return { result: code, act: { action: 'redeem.revoke', target: `code ${id}`, before, after } }
  })
}

async function findCode(tx: Transaction, id: string): Promise<StoredCode> {
  const padded = (digit: '0' | 'f') => new Uint8Array(Buffer.from(id.padEnd(64, digit), 'hex'))
  const isOfId = between(redeemCode.codeHash, padded('0'), padded('f'))
  const [code] = await tx.select().from(redeemCode).where(isOfId)
  if (code === undefined) throw notFound('code')
  return code
}

function shownOf(terms: {
  amountNano: bigint
  uses: number
  expiresAt?: Date | null | undefined
  creditExpiresAt?: Date | null | undefined
}) {
  return {
    amount: formatMoney(terms.amountNano),
    uses: terms.uses,
    expires_at: terms.expiresAt?.toISOString() ?? null,
    credit_expires_at: terms.creditExpiresAt?.toISOString() ?? null,
  }
}

/** What a code is called in lists and logs, as the ledger's entries name it, too. */
export function codeId(hash: Uint8Array | undefined): string {
  return Buffer.from(hash ?? [])
    .toString('hex')
    .slice(0, 16)
}
