import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { burnDown, expiries } from '@/ledger/burn-down.ts'
import type { Grant } from '@/ledger/types.ts'

const NOW = new Date('2030-01-01')

/** What goes wrong only where several credits come together is seldom made up. */
const MANY = { numRuns: 1_000 }

/** Credit as it is given, before it is known what was taken out by then. */
type Terms = Omit<Grant, 'seq' | 'debitsBeforeNano' | 'isClosed' | 'returns'>
/** What went back to its payer, of one of the credits that were given before. */
interface Back {
  nth: number
  backNano: bigint
}
type Event = Terms | Back | bigint

const terms = fc.record({
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
}) satisfies fc.Arbitrary<Terms>
const amount = fc.bigInt(0n, 8_000n)

/** What happened in a wallet, in its order: credit that was given, amounts that were taken out, payments that went back. */
const history = fc.array(
  fc.oneof(terms, fc.bigInt(1n, 1_500n), fc.record({ nth: fc.nat(20), backNano: fc.bigInt(1n, 1_200n) })),
  { maxLength: 20 },
)

interface Wallet {
  grants: Grant[]
  debitsNano: bigint
}

function walletOf(events: readonly Event[]): Wallet {
  const wallet: Wallet = { grants: [], debitsNano: 0n }
  for (const [seq, event] of events.entries()) {
    const debitsBeforeNano = wallet.debitsNano
    if (typeof event === 'bigint') wallet.debitsNano += event
    else if ('nth' in event) {
      const { nth, backNano: amountNano } = event
      const index = nth % Math.max(1, wallet.grants.length)
      wallet.grants = wallet.grants.map((grant, at) =>
        at === index
          ? { ...grant, returns: [...grant.returns, { seq, amountNano, debitsBeforeNano }] }
          : grant,
      )
      wallet.debitsNano += amountNano
    } else wallet.grants.push({ ...event, seq, debitsBeforeNano, isClosed: false, returns: [] })
  }
  return wallet
}

/** The same one nano after the other, each from what is used first of what is there; without end is far away. */
function oneByOne(events: readonly Event[]): Map<string, bigint> {
  const left = new Map<string, bigint>()
  const rankOf = ({ expiresAt, priority, entryId }: Terms) =>
    `${String(expiresAt?.getTime() ?? 9e15).padStart(16, '0')} ${priority} ${entryId}`
  const given: Terms[] = []
  let debt = 0n
  const pay = (entryId: string) => {
    for (let rest = left.get(entryId) ?? 0n; rest > 0n && debt > 0n; rest -= 1n) {
      left.set(entryId, rest - 1n)
      debt -= 1n
    }
  }
  for (const event of events) {
    if (typeof event === 'bigint') debt += event
    else if ('nth' in event) {
      debt += event.backNano
      pay(given[event.nth % given.length]?.entryId ?? '')
    } else {
      given.push(event)
      left.set(event.entryId, event.amountNano)
    }
    for (const { entryId } of given.toSorted((one, other) => (rankOf(one) < rankOf(other) ? -1 : 1)))
      pay(entryId)
  }
  return left
}

const total = (amounts: readonly bigint[]) => amounts.reduce((sum, one) => sum + one, 0n)
const given = (all: readonly Grant[]) => total(all.map(({ amountNano }) => amountNano))
const remaindersOf = ({ grants, debitsNano }: Wallet) =>
  burnDown(grants, debitsNano).map(({ grant, remainderNano }) => [grant.entryId, remainderNano] as const)
const isExpired = ({ expiresAt }: Terms) => expiresAt !== undefined && expiresAt <= NOW

const BASE = { entryKind: 'topup', kind: 'paid', amountNano: 10n, priority: 4, expiresAt: undefined } as const
const paid: Terms = { ...BASE, entryId: 'paid' }
const trial: Terms = { ...BASE, entryId: 'trial', kind: 'trial', priority: 0 }
const ending: Terms = { ...BASE, entryId: 'ending', expiresAt: NOW }
const later: Terms = { ...ending, entryId: 'later', expiresAt: new Date('2030-01-02') }

describe('what is left of grants', () => {
  test('is what nobody took, one nano after the other', () => {
    fc.assert(
      fc.property(history, events => {
        expect(new Map(remaindersOf(walletOf(events)))).toEqual(oneByOne(events))
      }),
      MANY,
    )
  })

  test('adds up to the balance, or to nothing where that is below', () => {
    fc.assert(
      fc.property(history, events => {
        const wallet = walletOf(events)
        const balance = given(wallet.grants) - wallet.debitsNano
        const left = total(remaindersOf(wallet).map(([, remainder]) => remainder))
        expect(left >= balance && left >= 0n).toBe(true)
        if (balance >= 0n) expect(left).toBe(balance)
        else expect(left).toBe(0n)
      }),
      MANY,
    )
  })

  test('does not depend on the order in which they are known', () => {
    fc.assert(
      fc.property(history, events => {
        const { grants, debitsNano } = walletOf(events)
        expect(burnDown([...grants].reverse(), debitsNano)).toEqual(burnDown(grants, debitsNano))
      }),
      MANY,
    )
  })

  test.each([
    [
      'what expires first, then what is without end',
      [paid, later, ending, 15n],
      { ending: 0n, later: 5n, paid: 10n },
    ],
    ['of what has one end or none, by priority', [paid, trial, 5n], { trial: 5n, paid: 10n }],
    ['nothing of what was given later', [paid, 8n, ending], { ending: 10n, paid: 2n }],
    ['a debt of what is given next, whatever ends first', [3n, paid, ending], { ending: 10n, paid: 7n }],
    ['no more than there is', [paid, 15n, ending], { ending: 5n, paid: 0n }],
    [
      'of a payment that goes back itself',
      [paid, ending, { nth: 0, backNano: 10n }],
      { ending: 10n, paid: 0n },
    ],
    [
      'of a payment that goes back when it is used, the rest like all else',
      [paid, 4n, ending, { nth: 0, backNano: 10n }],
      { ending: 6n, paid: 0n },
    ],
  ] as [string, Event[], Record<string, bigint>][])(
    'shrinks: what is taken out uses %s',
    (_what, events, left) => {
      expect(Object.fromEntries(remaindersOf(walletOf(events)))).toEqual(left)
    },
  )
})

describe('expiry', () => {
  test('comes at the moment that was said, and not before', () => {
    const { grants } = walletOf([ending, later])
    expect(expiries(grants, { debitsNano: 0n, pendingNano: 0n }, NOW)).toMatchObject([
      { grant: { entryId: 'ending' }, amountNano: 10n, last: true },
    ])
  })

  test('takes what is left of what has expired, but for what running exchanges rely on, and never more than there is', () => {
    fc.assert(
      fc.property(history, amount, (events, pendingNano) => {
        const wallet = walletOf(events)
        const due = expiries(wallet.grants, { ...wallet, pendingNano }, NOW)
        const left = oneByOne(events)
        const unused = total(wallet.grants.filter(isExpired).map(({ entryId }) => left.get(entryId) ?? 0n))
        const taken = total(due.map(({ amountNano }) => amountNano))
        expect(taken).toBe(unused > pendingNano ? unused - pendingNano : 0n)
      }),
      MANY,
    )
  })

  test('closes only what has nothing left when what it took is counted as taken', () => {
    fc.assert(
      fc.property(history, amount, (events, pendingNano) => {
        const { grants, debitsNano } = walletOf(events)
        const due = expiries(grants, { debitsNano, pendingNano }, NOW)
        const taken = total(due.map(({ amountNano }) => amountNano))
        const left = new Map(remaindersOf({ grants, debitsNano: debitsNano + taken }))
        const closed = due.filter(({ last }) => last).map(({ grant }) => left.get(grant.entryId))
        expect(closed.every(remainder => remainder === 0n)).toBe(true)
      }),
      MANY,
    )
  })

  test('run again with what it took counted as taken, finds nothing; and closes what is used up', () => {
    fc.assert(
      fc.property(history, amount, (events, pendingNano) => {
        const { grants, debitsNano } = walletOf(events)
        const taken = total(
          expiries(grants, { debitsNano, pendingNano }, NOW).map(({ amountNano }) => amountNano),
        )
        const again = expiries(grants, { debitsNano: debitsNano + taken, pendingNano }, NOW)
        expect(total(again.map(({ amountNano }) => amountNano))).toBe(0n)
        const idle = expiries(grants, { debitsNano: debitsNano + taken, pendingNano: 0n }, NOW)
        if (pendingNano === 0n) expect(idle.every(({ last }) => last)).toBe(true)
        const closed = grants.map(one => ({ ...one, isClosed: true }))
        expect(expiries(closed, { debitsNano, pendingNano }, NOW)).toEqual([])
      }),
      MANY,
    )
  })
})
