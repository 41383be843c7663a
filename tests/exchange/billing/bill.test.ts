import { expect, test } from 'bun:test'
import { ratesOf } from '#tests/pricing/samples.ts'
import { manualClock } from '#tests/support/manual-clock.ts'
import { type ErrorKind, GatewayError } from '@/errors/gateway-error.ts'
import { Bill } from '@/exchange/billing/bill.ts'
import { CreditWatch } from '@/exchange/billing/credit.ts'
import type { Meter } from '@/exchange/billing/meter.ts'
import type { Quote } from '@/exchange/billing/quote.ts'
import { NO_USAGE } from '@/generation/usage.ts'
import type { Ledger } from '@/ledger/ledger.ts'
import type { HoldResult, Settlement } from '@/ledger/types.ts'

const GRANTED: HoldResult = {
  granted: true,
  availableNano: 10n ** 9n,
  keyAvailableNano: undefined,
  resetsAt: undefined,
}

const REFUSED: HoldResult = { ...GRANTED, granted: false, reason: 'credit_exhausted' }

/** A bill that has its first slice. `limit` is the output limit that the request gets. */
async function openBill(...wanted: Parameters<typeof newBill>) {
  const made = newBill(...wanted)
  return { ...made, limit: await made.bill.reserve() }
}

/**
 * A bill of one nano a token, whose ledger answers as the test says: `first` to what is asked first. `asked` is what it
 * was asked to set aside.
 */
function newBill(
  wanted: Partial<Quote> = {},
  first: HoldResult | Promise<HoldResult> = GRANTED,
  then: HoldResult | Promise<HoldResult> = GRANTED,
) {
  const asked: number[] = []
  const noted: Settlement[] = []
  const progress: bigint[] = []
  const entrusted: string[] = []
  const freed: string[] = []
  const credit = new CreditWatch(manualClock())
  let answer = then
  const ask = async ({ amountNano }: { amountNano: bigint }) => {
    asked.push(Number(amountNano))
    return asked.length === 1 ? first : answer
  }
  const bill = new Bill({
    ledger: partOf({
      hold: ask,
      extend: ask,
      note: settlement => void noted.push(settlement),
      progress: (_, costNano) => void progress.push(costNano),
      entrusted: id => void entrusted.push(id),
      release: async ({ id }) => {
        freed.push(id)
        return { outcome: 'settled', chargedNano: 0n, overrunNano: 0n, availableNano: 10n ** 9n }
      },
      settle: async ({ costNano }) => ({
        outcome: 'settled',
        chargedNano: costNano,
        overrunNano: 0n,
        availableNano: 10n ** 9n,
      }),
    }),
    credit,
    quote: {
      priceVersion: 1n,
      rates: ratesOf({}),
      inputTokens: 0,
      answers: 1,
      statedOutput: undefined,
      maxOutput: 100_000,
      allowance: 2048,
      isAllowanceStated: false,
      firstOutput: 2048,
      bound: tokens => BigInt(tokens),
      affordable: nano => Number(nano),
      statable: tokens => tokens,
      mayBeginEarly: true,
      ...wanted,
    },
    exchange: { id: 'x', accountId: 1, keyId: 1 },
    now: () => 0,
    asked: () => undefined,
  })
  return {
    asked,
    noted,
    progress,
    entrusted,
    freed,
    credit,
    next: (result: HoldResult | Promise<HoldResult>) => {
      answer = result
    },
    bill,
    /** A look at an answer of so many tokens, and what comes of it, once the ledger has answered. */
    async look(tokens: number, told: Partial<Flowing> = {}) {
      const error = bill.tick(answerOf(tokens, told))
      await new Promise(setImmediate)
      return error?.kind
    },
  }
}

/** What a bill asks of a ledger. */
function partOf(
  ledger: Pick<Ledger, 'hold' | 'extend' | 'note' | 'progress' | 'settle' | 'entrusted' | 'release'>,
): Ledger {
  return ledger as Ledger
}

/** What a bill reads of an answer that has not ended. */
type Flowing = Pick<
  Meter,
  'estimatedOutput' | 'output' | 'hasWorked' | 'error' | 'finished' | 'usage' | 'wholeUsage' | 'servedTier'
>

/** An answer of so many tokens; nothing else of it is read. */
function answerOf(estimatedOutput: number, told: Partial<Flowing> = {}): Meter {
  const none = {
    output: false,
    hasWorked: told.output === true,
    error: undefined,
    finished: false,
    usage: undefined,
    wholeUsage: undefined,
    servedTier: undefined,
  }
  const flowing: Flowing = { ...none, estimatedOutput, ...told }
  return flowing as Meter
}

test('what is set aside doubles when half of it is used, by no more than 16,384 tokens at a time', async () => {
  const { asked, look } = await openBill()
  await look(1023)
  expect(asked).toEqual([2048])
  for (const tokens of [1024, 2048, 4096, 8192, 16_384, 24_576, 32_768]) await look(tokens)
  expect(asked).toEqual([2048, 4096, 8192, 16_384, 32_768, 49_152, 65_536, 81_920])
})

test('nothing more is set aside for an answer that has hardly begun when its first slice is there', async () => {
  const first = Promise.withResolvers<HoldResult>()
  const { asked, bill, look } = newBill({}, first.promise)
  const reserved = bill.reserve()
  await look(0)
  first.resolve(GRANTED)
  await reserved
  for (const tokens of [10, 100, 1000]) await look(tokens)
  expect(asked).toEqual([2048])
})

test.each<[string, Partial<Quote>, bigint]>([
  ['the first slice of an answer that nobody limited', {}, 2048n],
  ['all that the caller states', { statedOutput: 100_000 }, 100_000n],
])('an early start relies on %s', (_, wanted, nano) => {
  expect(newBill(wanted).bill.expectedNano).toBe(nano)
})

test.each([
  ['the first slice is there, and no more', GRANTED, 3n, [2048], 512],
  ['not even the first slice is there', REFUSED, 1603n, [2048, 1603], 400],
])(
  'several answers of one prompt share what is there for all of them where %s',
  async (_, first, availableNano, amounts, each) => {
    const { asked, limit } = await openBill({ answers: 4 }, { ...first, availableNano })
    expect(asked).toEqual(amounts)
    expect(limit).toBe(each)
  },
)

test('an answer that was to be cut to what there is does not begin when that is gone as well', async () => {
  const gone: HoldResult = { ...REFUSED, availableNano: 0n }
  const begun = openBill({}, { ...REFUSED, availableNano: 1600n }, gone)
  expect(await begun.catch(error => error.kind)).toBe('credit_exhausted')
})

test('several answers are not begun where there is too little for each of them', async () => {
  const begun = openBill({ answers: 4 }, { ...REFUSED, availableNano: 1000n })
  expect(await begun.catch(error => error.kind)).toBe('credit_exhausted')
})

test.each<[string, Partial<Quote>, HoldResult, number[], number]>([
  [
    'all that the caller states',
    { statedOutput: 100_000 },
    { ...GRANTED, availableNano: 0n },
    [2048, 100_000],
    99_999,
  ],
  ['what there is', {}, { ...REFUSED, availableNano: 1600n }, [2048, 1600], 799],
])(
  'an answer for which %s was set aside asks for no more before it needs it',
  async (_, wanted, first, amounts, tokens) => {
    const { asked, look } = await openBill(wanted, first)
    await look(tokens)
    expect(asked).toEqual(amounts)
  },
)

test('an answer that was begun with less than the first slice ends where that is used, and asks for more in time', async () => {
  const { asked, look, next } = await openBill({}, { ...REFUSED, availableNano: 1600n })
  next({ ...REFUSED, availableNano: 0n })
  expect([await look(800), await look(1599), await look(1600)]).toEqual([
    undefined,
    undefined,
    'credit_exhausted',
  ])
  expect(asked.slice(0, 3)).toEqual([2048, 1600, 3200])
})

test('an answer that was refused more goes on when it is granted after all, and only then', async () => {
  const { look, next } = await openBill()
  next({ ...GRANTED, granted: false, reason: 'credit_exhausted', availableNano: 0n })
  await look(1024)
  next(GRANTED)
  await look(2000)
  // More than is paid for, while the ledger is asked: what it refused before is no reason any more.
  next(new Promise<HoldResult>(() => undefined))
  expect(await look(4096)).toBeUndefined()
})

test('an answer that was granted a part of what it asked for asks for more as it goes on, once at a time', async () => {
  const { asked, look, next } = await openBill()
  next({ ...REFUSED, availableNano: 1000n })
  await look(1024)
  next(GRANTED)
  await look(1100)
  await look(1524)
  next(new Promise<HoldResult>(() => undefined))
  await look(3048)
  await look(3100)
  expect(asked).toEqual([2048, 4096, 3048, 6096, 12_192])
})

test.each<[ErrorKind, bigint, bigint | undefined]>([
  ['key_budget_exhausted', 5n, 0n],
  ['credit_exhausted', 0n, 5n],
  ['credit_exhausted', 0n, undefined],
])(
  'an answer for which no more is to be had ends in %s where the account has %p and its key %p',
  async (kind, availableNano, keyAvailableNano) => {
    const { look, next } = await openBill()
    next({ ...GRANTED, granted: false, reason: 'credit_reserved', availableNano, keyAvailableNano })
    expect(await look(1024)).toBeUndefined()
    expect(await look(2047)).toBeUndefined()
    expect(await look(2048)).toBe(kind)
  },
)

test('an answer that broke off before its first output is free, whatever it told of its usage', async () => {
  const { bill } = await openBill()
  const told = { ...NO_USAGE, inputUncached: 7 }
  expect(bill.usedUp(answerOf(0, { usage: told, wholeUsage: told }))).toBeUndefined()
})

test('what was counted of an answer that nobody saw yet is charged to who left it, and is free where it failed', async () => {
  const { bill } = await openBill()
  const withheld = answerOf(3, { hasWorked: true })
  expect(bill.usedUp(withheld)?.usage.outputText).toBe(3)
  const error = new GatewayError('upstream_error', 'The upstream failed')
  expect(bill.usedUp(answerOf(3, { hasWorked: true, error }))).toBeUndefined()
})

test('what a cut answer told of its usage is charged, though its text looks like less', async () => {
  const { bill } = await openBill()
  const told = { ...NO_USAGE, inputUncached: 7, outputText: 500 }
  const cut = (estimatedOutput: number) =>
    bill.usedUp(answerOf(estimatedOutput, { output: true, usage: told }))
  expect(cut(3)?.usage).toEqual(told)
  expect(cut(600)?.usage).toEqual({ ...told, outputText: 600 })
})

test('thoughts that a cut answer told of are not charged again as its text', async () => {
  const { bill } = await openBill()
  const told = { ...NO_USAGE, inputUncached: 7, reasoning: 500 }
  const cut = bill.usedUp(answerOf(510, { output: true, usage: told }))
  expect(cut?.usage).toEqual({ ...told, outputText: 10 })
})

test('an answer that costs nothing sets aside the least that there is', async () => {
  const { asked } = await openBill({ bound: () => 0n })
  expect(asked).toEqual([1])
})

test.each([
  ['in an hour', 3_600_000, 3_600_000],
  ['this moment', 1, 1000],
])('a key whose cap is reached may come again when it starts anew: %s', async (_, resetsMs, retryAfterMs) => {
  const reached = { ...REFUSED, reason: 'key_budget_exhausted', resetsAt: new Date(resetsMs) } as const
  const error = await openBill({ statedOutput: 5 }, reached).catch(thrown => thrown)
  expect(error).toBeInstanceOf(GatewayError)
  expect(error.retryAfterMs).toBe(retryAfterMs)
  expect(error.details).toEqual({ affordable_max_tokens: 10 ** 9 })
  expect(error.message).toEndWith(`it starts anew at ${new Date(resetsMs).toISOString()}`)
})

test.each([
  ['a cap that is reached', 'key_budget_exhausted', 'The spending cap of this API key is reached'],
  ['credit that is used up', 'credit_exhausted', 'The credit of this account does not pay for this request'],
] as const)('%s is told as such of what a shorter answer makes no cheaper', async (_, reason, message) => {
  const shortest = { statedOutput: 5, affordable: () => undefined }
  const error = await openBill(shortest, { ...REFUSED, reason }).catch(thrown => thrown)
  expect(error).toMatchObject({ message, details: undefined })
})

test('a hold that a job answers for is no longer of this process, and is not given back with its request', async () => {
  for (const fails of [false, true]) {
    const job = await openBill()
    const handed: bigint[] = []
    const hand = async (heldNano: bigint) => {
      handed.push(heldNano)
      expect(job.entrusted).toEqual([])
      if (fails) throw new Error('nobody knows whether it was done')
    }
    const isHanded = await job.bill.entrust(hand).then(
      () => true,
      () => false,
    )
    await job.bill.release()
    expect([isHanded, handed, job.entrusted, job.freed]).toEqual([!fails, [2048n], ['x'], []])
  }
  const plain = await openBill()
  await plain.bill.release()
  expect([plain.entrusted, plain.freed]).toEqual([[], ['x']])
})

test('what a request asks for counts against early starts until it is answered, or fails', async () => {
  const { bill, credit, next } = await openBill()
  const isAmple = () => credit.isAmple(1, GRANTED.availableNano / 4n)
  expect(isAmple()).toBe(true)
  const answer = Promise.withResolvers<HoldResult>()
  next(answer.promise)
  const asked = bill.reserve()
  expect(isAmple()).toBe(false)
  answer.reject(new Error('the database is away'))
  await asked.catch(() => undefined)
  expect(isAmple()).toBe(true)
})

test('what an answer has cost so far is noted while it flows, at every fourth look', async () => {
  const { look, progress } = await openBill({ rates: ratesOf({ output: 1000n }) })
  await look(0)
  for (let tokens = 1; tokens <= 6; tokens += 1) await look(tokens, { output: true })
  expect(progress).toEqual([1n, 5n])
})

test('what an answer costs that is about to end is noted, for whoever goes on if this process does not', async () => {
  const { bill, noted } = await openBill({ rates: ratesOf({ input: 500n }) })
  bill.note({ usage: { ...NO_USAGE, inputUncached: 7 }, source: 'reported' })
  expect(noted).toEqual([{ id: 'x', accountId: 1, keyId: 1, costNano: 4n, costPico: 3500n }])
})

test('what the ledger says an account has after a charge decides whether its next request may begin early', async () => {
  const { bill, credit } = await openBill({}, { ...GRANTED, availableNano: 0n })
  expect(credit.isAmple(1, 1n)).toBe(false)
  await bill.settle({ pico: 1000n, nano: 1n, priceVersion: 1n, serviceTier: undefined })
  expect(credit.isAmple(1, 1n)).toBe(true)
})

test('the same tokens cost anew where what was used beside them is more, or another tier served them', async () => {
  const rates = ratesOf(
    { input: 1000n },
    {
      perRequest: 5000n,
      perCharacter: 5000n,
      serviceTiers: new Map([['flex', { tokens: { input: 500n }, tiers: [] }]]),
    },
  )
  const { bill } = await openBill({ rates })
  const used = { usage: { ...NO_USAGE, inputUncached: 2 }, source: 'reported' } as const
  expect(bill.charge(used).nano).toBe(7n)
  expect(bill.charge({ ...used, extras: { characters: 2 } }).nano).toBe(17n)
  expect(bill.charge({ ...used, serviceTier: 'flex' }).nano).toBe(6n)
  expect(bill.charge(used).nano).toBe(7n)
})

test.each([
  ['key_revoked', 'invalid_api_key'],
  ['account_suspended', 'account_suspended'],
  ['hold_expired', 'billing_unavailable'],
] as const)(
  'an answer that gets no more as of %s ends in %s, however little credit or budget is left',
  async (reason, kind) => {
    const { look, next } = await openBill()
    next({ ...GRANTED, granted: false, reason, keyAvailableNano: 0n })
    await look(1024)
    expect(await look(2048)).toBe(kind)
  },
)
