import type { Grant } from './types.ts'

/** What is left of a grant. */
export interface Remainder {
  grant: Grant
  remainderNano: bigint
}

/** What is to be taken of a grant that has expired. */
export interface Expiry {
  grant: Grant
  amountNano: bigint
  /** Nothing is left of it afterwards. */
  last: boolean
}

/**
 * What is left of each grant when so much was taken out of the wallet: what expires first is used first. A pure
 * function, so that no exchange has to write which grant paid for it. The remainders add up to the balance, or to 0
 * if that is below.
 */
export function burnDown(grants: readonly Grant[], debitsNano: bigint): Remainder[] {
  let unpaid = debitsNano
  return [...grants].sort(inOrderOfUse).map(grant => {
    const used = smaller(grant.amountNano, unpaid)
    unpaid -= used
    return { grant, remainderNano: grant.amountNano - used }
  })
}

/**
 * What the calendar takes now. Running exchanges were admitted on this credit: as much as they have set aside stays
 * until they are settled.
 */
export function expiries(
  grants: readonly Grant[],
  wallet: { debitsNano: bigint; pendingNano: bigint },
  now: Date,
): Expiry[] {
  let reserved = wallet.pendingNano
  return burnDown(grants, wallet.debitsNano)
    .filter(({ grant }) => grant.expiresAt !== undefined && grant.expiresAt <= now)
    .map(({ grant, remainderNano }) => {
      const kept = smaller(remainderNano, reserved)
      reserved -= kept
      return { grant, amountNano: remainderNano - kept, last: kept === 0n }
    })
}

function inOrderOfUse(one: Grant, other: Grant): number {
  const expiry = expiryMs(one) - expiryMs(other)
  if (expiry !== 0 && !Number.isNaN(expiry)) return expiry
  if (one.priority !== other.priority) return one.priority - other.priority
  return compare(one.entryId, other.entryId) || compare(one.entryKind, other.entryKind)
}

function expiryMs({ expiresAt }: Grant): number {
  return expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}
