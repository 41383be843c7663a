import type { Grant, Return } from './types.ts'

/** What is left of a grant. */
export interface Remainder {
  grant: Grant
  remainderNano: bigint
}

/** What is to be taken of a grant that has expired. */
interface Expiry {
  grant: Grant
  amountNano: bigint
  /** Nothing is left of it afterwards. */
  last: boolean
}

/**
 * What is left of each grant, in the order of use, when `debitsNano` in all was taken out of the wallet. A pure function, so
 * that no exchange has to write which grant paid for it.
 *
 * - What is taken uses up what was there at that moment, first what expires first.
 * - What nothing was there for is paid by what is given next.
 * - What goes back to a payer is taken from what is left of that payment, as far as it goes: a gift with an end does not
 *   become money without one.
 *
 * The remainders add up to the balance, or to 0 if that is below.
 */
export function burnDown(grants: readonly Grant[], debitsNano: bigint): Remainder[] {
  const all = grants.map(grant => ({ grant, remainderNano: grant.amountNano }))
  /** Those of which something is left, in the order of use. */
  const open: Remainder[] = []
  let unpaid = 0n
  let takenNano = 0n
  const takeUntil = (nextNano: bigint) => {
    unpaid = take(open, unpaid + nextNano - takenNano)
    takenNano = nextNano
  }
  for (const { remainder, event } of inOrderOfTime(all)) {
    takeUntil(event.debitsBeforeNano)
    if (event === remainder.grant) {
      const place = open.findIndex(other => inOrderOfUse(remainder.grant, other.grant) < 0)
      open.splice(place < 0 ? open.length : place, 0, remainder)
    } else {
      const backNano = smaller(remainder.remainderNano, event.amountNano)
      remainder.remainderNano -= backNano
      takenNano += backNano
    }
  }
  takeUntil(debitsNano)
  return all.sort((one, other) => inOrderOfUse(one.grant, other.grant))
}

/** When each was given, and when some of it went back. */
function inOrderOfTime(all: readonly Remainder[]): { remainder: Remainder; event: Grant | Return }[] {
  return all
    .flatMap(remainder => [remainder.grant, ...remainder.grant.returns].map(event => ({ remainder, event })))
    .sort((one, other) => one.event.seq - other.event.seq)
}

/** Takes an amount of what is left, and removes what is used up; the result is what there was nothing for. */
function take(open: Remainder[], amountNano: bigint): bigint {
  let unpaid = amountNano
  for (let first = open[0]; first !== undefined && unpaid > 0n; first = open[0]) {
    const used = smaller(first.remainderNano, unpaid)
    first.remainderNano -= used
    unpaid -= used
    if (first.remainderNano === 0n) open.shift()
  }
  return unpaid
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
  const expired = burnDown(grants, wallet.debitsNano).filter(
    ({ grant }) => !grant.isClosed && grant.expiresAt !== undefined && grant.expiresAt <= now,
  )
  // What stays is of what is used last: what is taken counts against what is used first, as all that is taken out does.
  let due = -wallet.pendingNano
  for (const { remainderNano } of expired) due += remainderNano
  return expired.map(({ grant, remainderNano }) => {
    const amountNano = due > 0n ? smaller(remainderNano, due) : 0n
    due -= amountNano
    return { grant, amountNano, last: amountNano === remainderNano }
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
