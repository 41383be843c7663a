import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { burnDown, expiries } from '@/ledger/burn-down.ts'
import type { Grant } from '@/ledger/types.ts'

const NOW = new Date('2030-01-01')

const grant = fc.record({
  entryId: fc.uuid(),
  entryKind: fc.constantFrom('topup', 'promo', 'trial'),
  kind: fc.constantFrom('paid', 'promo', 'trial'),
  amountNano: fc.bigInt(1n, 1_000n),
  priority: fc.nat(4),
  expiresAt: fc.option(
    fc.date({ min: new Date('2029-12-01'), max: new Date('2030-02-01'), noInvalidDate: true }),
    {
      nil: undefined,
    },
  ),
}) satisfies fc.Arbitrary<Grant>
const grants = fc.uniqueArray(grant, { maxLength: 12, selector: ({ entryId }) => entryId })
const amount = fc.bigInt(0n, 8_000n)

const total = (amounts: readonly bigint[]) => amounts.reduce((sum, one) => sum + one, 0n)
const given = (all: readonly Grant[]) => total(all.map(({ amountNano }) => amountNano))

describe('what is left of grants', () => {
  test('adds up to the balance, and is never below zero or above what was given', () => {
    fc.assert(
      fc.property(grants, amount, (all, debits) => {
        const remainders = burnDown(all, debits)
        const left = total(remainders.map(({ remainderNano }) => remainderNano))
        expect(left).toBe(given(all) > debits ? given(all) - debits : 0n)
        for (const { grant: one, remainderNano } of remainders) {
          expect(remainderNano >= 0n && remainderNano <= one.amountNano).toBe(true)
        }
      }),
    )
  })

  test('does not depend on the order in which they are known', () => {
    fc.assert(
      fc.property(grants, amount, (all, debits) => {
        expect(burnDown([...all].reverse(), debits)).toEqual(burnDown(all, debits))
      }),
    )
  })

  test('is touched only when everything before it is used up', () => {
    fc.assert(
      fc.property(grants, amount, (all, debits) => {
        const untouched = burnDown(all, debits).findIndex(({ remainderNano }) => remainderNano > 0n)
        const after = untouched < 0 ? [] : burnDown(all, debits).slice(untouched + 1)
        for (const { grant: one, remainderNano } of after) expect(remainderNano).toBe(one.amountNano)
      }),
    )
  })

  test('shrinks in the order of expiry, then of priority', () => {
    const base = { entryKind: 'topup', amountNano: 10n, priority: 4, expiresAt: undefined } as const
    const paid: Grant = { ...base, entryId: 'a', kind: 'paid' }
    const trial: Grant = { ...base, entryId: 'b', kind: 'trial', priority: 0 }
    const ending: Grant = { ...base, entryId: 'c', kind: 'paid', expiresAt: NOW }
    const left = burnDown([paid, trial, ending], 15n).map(({ grant: one, remainderNano }) => [
      one.entryId,
      remainderNano,
    ])
    expect(left).toEqual([
      ['c', 0n],
      ['b', 5n],
      ['a', 10n],
    ])
  })
})

describe('expiry', () => {
  test('takes what is left of what has expired, but for what running exchanges rely on, and never more than there is', () => {
    fc.assert(
      fc.property(grants, amount, amount, (all, debitsNano, pendingNano) => {
        const due = expiries(all, { debitsNano, pendingNano }, NOW)
        const expired = given(all.filter(({ expiresAt }) => expiresAt !== undefined && expiresAt <= NOW))
        const unused = expired > debitsNano ? expired - debitsNano : 0n
        const taken = total(due.map(({ amountNano }) => amountNano))
        expect(taken).toBe(unused > pendingNano ? unused - pendingNano : 0n)
      }),
    )
  })

  test('run again with what it took counted as taken, finds nothing; and closes what is used up', () => {
    fc.assert(
      fc.property(grants, amount, amount, (all, debitsNano, pendingNano) => {
        const taken = total(
          expiries(all, { debitsNano, pendingNano }, NOW).map(({ amountNano }) => amountNano),
        )
        const again = expiries(all, { debitsNano: debitsNano + taken, pendingNano }, NOW)
        expect(total(again.map(({ amountNano }) => amountNano))).toBe(0n)
        const idle = expiries(all, { debitsNano: debitsNano + taken, pendingNano: 0n }, NOW)
        if (pendingNano === 0n) expect(idle.every(({ last }) => last)).toBe(true)
      }),
    )
  })
})
