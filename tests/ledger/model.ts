import fc from 'fast-check'
import type { LedgerStore } from '@/ledger/store.ts'
import type { HoldResult } from '@/ledger/types.ts'
import { taken } from './fixture.ts'

/**
 * The ledger in plain words: what each command must answer and leave behind, without locks, batches or SQL. Every
 * command runs on this and on the real one. Answers must agree at each step; so must all that is left behind, at
 * random points (`look` is a command like any other) and at the end.
 */
export interface Model {
  accounts: ModelAccount[]
  keys: ModelKey[]
  /** Every exchange that was ever asked for, in that order. */
  exchanges: ModelExchange[]
  topups: { id: string; account: number; amount: bigint }[]
  codes: { amount: bigint; left: number; usedBy: Set<number> }[]
}

interface ModelAccount {
  credits: bigint
  debits: bigint
  pending: bigint
  suspended: boolean
  /** What is left of credit whose end has passed: used first. */
  expiredLeft: bigint
  /** What is left of credit whose end has not: used next. */
  endingLeft: bigint
}

interface ModelKey {
  account: number
  /** Of each month. */
  cap: bigint | undefined
  /** Whether it was asked for with a cap once: what it spends is counted from then on. */
  isCounted: boolean
  /** How many months have passed, the one that ended when the counting began included. */
  month: number
  spent: bigint
  pending: bigint
}

interface ModelExchange {
  id: string
  account: number
  key: number
  /** Undefined: no hold is open. */
  hold: { amount: bigint; progress: bigint; owner: number; counted: boolean } | undefined
  /** What was charged when the hold was ended. */
  usage: { charged: bigint; expired: boolean } | undefined
  trueUp: bigint | undefined
  /** The months of its key in which it was charged; undefined is a charge that did not count. */
  months: Set<number | undefined>
  refunded: bigint
}

/** The real thing, and the names that the model's numbers have in it. */
export interface Real {
  store: LedgerStore
  accountIds: number[]
  keyIds: number[]
  /** Two gateway processes. */
  owners: string[]
  codeHashes: Uint8Array[]
  /** Commands run so far. */
  steps: number
  newId(): string
  setSuspended(account: number, suspended: boolean): Promise<void>
  /** Lets the deadline of a hold pass. */
  expireHold(id: string): Promise<void>
  /** Makes a process look dead. */
  kill(owner: string): Promise<void>
  /** Lets the end of all credit that has one pass. */
  passTime(account: number): Promise<void>
  /** Lets a month pass for what a key may spend. */
  passMonth(key: number): Promise<void>
  /** Gives a key a cap of each month, or takes it away. */
  setCap(key: number, cap: bigint | undefined): Promise<void>
  /** `credits/debits/pending` of each account, then `spent/pending` of each key, in the month that runs. */
  read(): Promise<string[]>
}

export function newModel(setup: { credits: bigint[]; keys: ModelKey[]; codes: Model['codes'] }): Model {
  return {
    accounts: setup.credits.map(credits => ({
      credits,
      debits: 0n,
      pending: 0n,
      suspended: false,
      expiredLeft: 0n,
      endingLeft: 0n,
    })),
    keys: setup.keys,
    exchanges: [],
    topups: [],
    codes: setup.codes,
  }
}

type LedgerCommand = fc.AsyncCommand<Model, Real>

/** Amounts that collide often, so that limits are met exactly. */
const amount = fc.bigInt(1n, 60n)
const pick = fc.nat(1_000)

export function ledgerCommands(maxCommands: number) {
  const request = fc.record({ key: pick, owner: pick, amount })
  return fc.commands<Model, Real, false>(
    [
      fc.array(request, { minLength: 1, maxLength: 5 }).map(requests => hold(requests)),
      fc.tuple(pick, pick).map(([which, owner]) => holdAgain(which, owner)),
      fc.tuple(pick, fc.bigInt(1n, 120n)).map(([which, target]) => extend(which, target)),
      fc
        .array(fc.tuple(pick, fc.bigInt(0n, 90n)), { minLength: 1, maxLength: 5 })
        .map(costs => settle(costs)),
      pick.map(which => settle([[which, 0n]])),
      fc.tuple(pick, amount).map(([which, cost]) => progress(which, cost)),
      fc.tuple(pick, amount).map(([which, cost]) => progress(which, cost)),
      pick.map(owner => reapDead(owner)),
      pick.map(which => reapLate(which)),
      fc.tuple(pick, amount, fc.boolean()).map(([account, value, ends]) => topUp(account, value, ends)),
      pick.map(which => topUpAgain(which)),
      fc.tuple(pick, amount).map(([account, value]) => debit(account, value)),
      fc.tuple(pick, amount).map(([account, value]) => payOut(account, value)),
      fc.tuple(pick, amount).map(([which, value]) => refund(which, value)),
      fc.tuple(pick, pick).map(([code, account]) => redeem(code, account)),
      pick.map(account => expire(account)),
      pick.map(key => passMonth(key)),
      fc
        .tuple(pick, fc.option(fc.bigInt(0n, 200n), { nil: undefined }))
        .map(([key, cap]) => setCap(key, cap)),
      fc.tuple(pick, fc.boolean()).map(([account, suspended]) => suspend(account, suspended)),
      fc.constant(look()),
    ],
    { maxCommands, size: 'max' },
  )
}

/** Throws if wallets and budgets are not where the model is. */
export async function compare(model: Model, real: Real): Promise<void> {
  const wallets = model.accounts.map(({ credits, debits, pending }) => `${credits}/${debits}/${pending}`)
  const budgets = model.keys.map(({ spent, pending }) => `${spent}/${pending}`)
  assertEqual([...wallets, ...budgets], await real.read())
}

function command(
  text: string,
  run: (model: Model, real: Real) => Promise<void>,
  check: (model: Model) => boolean = () => true,
): LedgerCommand {
  return {
    check,
    toString: () => text,
    async run(model, real) {
      await run(model, real)
      real.steps += 1
    },
  }
}

function look() {
  return command('look', compare)
}

const hasExchange = (model: Model) => model.exchanges.length > 0

/** A key that has a cap and is asked for is counted from then on. */
function ask(model: Model, { key: index }: ModelExchange): void {
  const key = at(model.keys, index)
  if (key.cap === undefined || key.isCounted) return
  key.isCounted = true
  key.month += 1
}

function hold(requests: readonly { key: number; owner: number; amount: bigint }[]) {
  return command(
    `hold(${requests.map(({ key, amount: value }) => `${key}:${value}`)})`,
    async (model, real) => {
      const owner = (requests[0]?.owner ?? 0) % real.owners.length
      const exchanges = requests.map(request => {
        const key = request.key % model.keys.length
        const account = at(model.keys, key).account
        const exchange = { id: real.newId(), account, key, hold: undefined, usage: undefined }
        const rest = { trueUp: undefined, months: new Set<number | undefined>(), refunded: 0n }
        return { exchange: { ...exchange, ...rest }, amount: request.amount }
      })
      const answers = await real.store.hold(
        at(real.owners, owner),
        exchanges.map(({ exchange, amount: value }) => holdRequest(real, exchange, value)),
      )
      for (const { exchange } of exchanges) ask(model, exchange)
      const expected = exchanges.map(({ exchange, amount: value }) => open(model, exchange, value, owner))
      assertEqual(
        expected.map((verdict, index) => `${verdict} ${creditOf(model, at(exchanges, index).exchange)}`),
        answers.map(answer => `${verdictOf(answer)} ${creditIn(answer)}`),
      )
      model.exchanges.push(...exchanges.map(({ exchange }) => exchange))
    },
  )
}

/** A request whose answer was lost, or one that comes twice. */
function holdAgain(which: number, by: number) {
  return command(
    `holdAgain(${which})`,
    async (model, real) => {
      const exchange = at(model.exchanges, which % model.exchanges.length)
      const owner = by % real.owners.length
      const value = exchange.hold?.amount ?? 7n
      const [answer] = await real.store.hold(at(real.owners, owner), [holdRequest(real, exchange, value)])
      const charged = exchange.usage !== undefined || exchange.trueUp !== undefined
      ask(model, exchange)
      const expected = exchange.hold !== undefined ? 'granted' : charged ? 'conflict' : undefined
      assertEqual(expected ?? open(model, exchange, value, owner), verdictOf(answer))
      if (exchange.hold !== undefined) exchange.hold.owner = owner
    },
    hasExchange,
  )
}

function extend(which: number, target: bigint) {
  return command(
    `extend(${which}, ${target})`,
    async (model, real) => {
      const exchange = at(model.exchanges, which % model.exchanges.length)
      const owner = exchange.hold?.owner ?? 0
      const { id, accountId, keyId } = holdRequest(real, exchange, target)
      const request = { id, accountId, keyId, amountNano: target }
      const [answer] = await real.store.hold(at(real.owners, owner), [request])
      ask(model, exchange)
      assertEqual(raise(model, exchange, target), verdictOf(answer))
      const [again] = await real.store.hold(at(real.owners, owner), [request])
      if (verdictOf(answer) === 'granted') assertEqual('granted', verdictOf(again))
    },
    hasExchange,
  )
}

/** Of open, settled, released and expired exchanges alike; a cost of 0 releases. */
function settle(costs: readonly (readonly [number, bigint])[]) {
  return command(
    `settle(${costs.map(([which, cost]) => `${which}:${cost}`)})`,
    async (model, real) => {
      const chosen = new Map(
        costs.map(([which, cost]) => [at(model.exchanges, which % model.exchanges.length), cost]),
      )
      const answers = await real.store.settle(
        [...chosen].map(([exchange, costNano]) => {
          const { id, accountId, keyId } = holdRequest(real, exchange, 1n)
          return { id, accountId, keyId, costNano, costPico: costNano * 1000n - (costNano > 0n ? 999n : 0n) }
        }),
      )
      const expected = [...chosen].map(([exchange, cost]) => charge(model, exchange, cost))
      assertEqual(
        [...chosen.keys()].map((exchange, index) => `${expected[index]} ${availableTo(model, exchange)}`),
        taken(answers).map(
          ({ outcome, chargedNano, availableNano }) => `${outcome} ${chargedNano} ${availableNano}`,
        ),
      )
    },
    hasExchange,
  )
}

function progress(which: number, cost: bigint) {
  return command(
    `progress(${which}, ${cost})`,
    async (model, real) => {
      const { id, hold: held } = at(model.exchanges, which % model.exchanges.length)
      await real.store.progress(at(real.owners, held?.owner ?? 0), new Map([[id, cost]]))
      if (held !== undefined && cost > held.progress) held.progress = cost
    },
    hasExchange,
  )
}

function reapDead(which: number) {
  return command(`reapDead(${which})`, async (model, real) => {
    const owner = which % real.owners.length
    const dead = at(real.owners, owner)
    await real.kill(dead)
    await real.store.reap(3_600_000, 1_000)
    for (const exchange of model.exchanges) if (exchange.hold?.owner === owner) expireModel(model, exchange)
    // The process comes back, under a new id.
    assertEqual(0, (await real.store.heartbeat(dead)).alive)
    const reborn = real.newId()
    await real.store.register(reborn, 'model')
    real.owners[owner] = reborn
  })
}

function reapLate(which: number) {
  return command(
    `reapLate(${which})`,
    async (model, real) => {
      const exchange = at(model.exchanges, which % model.exchanges.length)
      await real.expireHold(exchange.id)
      await real.store.reap(3_600_000, 1_000)
      if (exchange.hold !== undefined) expireModel(model, exchange)
    },
    hasExchange,
  )
}

function topUp(which: number, value: bigint, ends: boolean) {
  return command(`topUp(${which}, ${value}, ${ends})`, async (model, real) => {
    const account = which % model.accounts.length
    const id = real.newId()
    const terms = ends ? { expiresAt: new Date('2999-01-01') } : {}
    const base = { id, accountId: at(real.accountIds, account), kind: 'topup', amountNano: value } as const
    const { posted } = await real.store.post({ ...base, ...terms })
    assertEqual(true, posted)
    const owner = at(model.accounts, account)
    const debt = owner.debits > owner.credits ? owner.debits - owner.credits : 0n
    owner.credits += value
    if (ends && value > debt) owner.endingLeft += value - debt
    model.topups.push({ id, account, amount: value })
  })
}

function topUpAgain(which: number) {
  return command(
    `topUpAgain(${which})`,
    async (model, real) => {
      const { id, account, amount: amountNano } = at(model.topups, which % model.topups.length)
      const accountId = at(real.accountIds, account)
      const { posted } = await real.store.post({ id, accountId, kind: 'topup', amountNano })
      assertEqual(false, posted)
    },
    model => model.topups.length > 0,
  )
}

/** An operator may take more than there is. */
function debit(which: number, value: bigint) {
  return command(`debit(${which}, ${value})`, async (model, real) => {
    const account = which % model.accounts.length
    const accountId = at(real.accountIds, account)
    await real.store.post({ id: real.newId(), accountId, kind: 'debit', amountNano: -value, reason: 'model' })
    takeOut(at(model.accounts, account), value)
  })
}

/** A payment that goes back must be there. */
function payOut(which: number, value: bigint) {
  return command(`payOut(${which}, ${value})`, async (model, real) => {
    const account = which % model.accounts.length
    const accountId = at(real.accountIds, account)
    const paid = await real.store
      .post({ id: real.newId(), accountId, kind: 'refund', amountNano: -value })
      .then(() => true, refusedBy('less than that to give back'))
    const owner = at(model.accounts, account)
    const possible = owner.credits - owner.debits - owner.pending >= value
    assertEqual(possible, paid)
    if (possible) takeOut(owner, value)
  })
}

function refund(which: number, value: bigint) {
  return command(
    `refund(${which}, ${value})`,
    async (model, real) => {
      const exchange = at(model.exchanges, which % model.exchanges.length)
      const accountId = at(real.accountIds, exchange.account)
      const ref = exchange.id
      const refunded = await real.store
        .post({ id: real.newId(), accountId, kind: 'usage_refund', amountNano: value, ref })
        .then(() => true, refusedBy('did not cost account'))
      const charged = (exchange.usage?.charged ?? 0n) + (exchange.trueUp ?? 0n)
      const possible = exchange.refunded + value <= charged
      assertEqual(possible, refunded)
      if (!possible) return
      exchange.refunded += value
      at(model.accounts, exchange.account).credits += value
      giveBack(model, exchange, value)
    },
    hasExchange,
  )
}

function redeem(which: number, by: number) {
  return command(`redeem(${which}, ${by})`, async (model, real) => {
    const index = which % model.codes.length
    const account = by % model.accounts.length
    const code = at(model.codes, index)
    const hash = at(real.codeHashes, index)
    const { result } = await real.store.redeem(real.newId(), hash, at(real.accountIds, account))
    const again = code.usedBy.has(account)
    assertEqual(again ? 'already_redeemed' : code.left > 0 ? 'redeemed' : 'used_up', result)
    if (result !== 'redeemed') return
    code.left -= 1
    code.usedBy.add(account)
    at(model.accounts, account).credits += code.amount
  })
}

function expire(which: number) {
  return command(`expire(${which})`, async (model, real) => {
    const account = which % model.accounts.length
    await real.passTime(account)
    await real.store.expireCredit(at(real.accountIds, account))
    const owner = at(model.accounts, account)
    owner.expiredLeft += owner.endingLeft
    owner.endingLeft = 0n
    if (owner.expiredLeft > owner.pending) takeOut(owner, owner.expiredLeft - owner.pending)
  })
}

/** What was spent before counts no more; what is set aside stays so. */
function passMonth(which: number) {
  return command(`passMonth(${which})`, async (model, real) => {
    const index = which % model.keys.length
    await real.passMonth(index)
    const key = at(model.keys, index)
    key.month += 1
    key.spent = 0n
  })
}

/** What is set aside already counts, or does not, as when it was. */
function setCap(which: number, cap: bigint | undefined) {
  return command(`setCap(${which}, ${cap})`, async (model, real) => {
    const index = which % model.keys.length
    await real.setCap(index, cap)
    at(model.keys, index).cap = cap
  })
}

function suspend(which: number, suspended: boolean) {
  return command(`suspend(${which}, ${suspended})`, async (model, real) => {
    const account = which % model.accounts.length
    await real.setSuspended(account, suspended)
    at(model.accounts, account).suspended = suspended
  })
}

/** Opens a hold in the model, or says why not. */
function open(model: Model, exchange: ModelExchange, value: bigint, owner: number): string {
  const refusal = refusalOf(model, exchange, value, 0n)
  if (refusal !== undefined) return refusal
  const counted = at(model.keys, exchange.key).cap !== undefined
  exchange.hold = { amount: value, progress: 0n, owner, counted }
  reserve(model, exchange, value)
  return 'granted'
}

function raise(model: Model, exchange: ModelExchange, target: bigint): string {
  if (exchange.hold === undefined) return 'hold_expired'
  const need = target - exchange.hold.amount
  if (need <= 0n) return 'granted'
  const refusal = refusalOf(model, exchange, need, exchange.hold.amount)
  if (refusal !== undefined) return refusal
  exchange.hold.amount = target
  reserve(model, exchange, need)
  return 'granted'
}

function refusalOf(model: Model, exchange: ModelExchange, need: bigint, own: bigint): string | undefined {
  const account = at(model.accounts, exchange.account)
  const key = at(model.keys, exchange.key)
  const available = account.credits - account.debits - account.pending
  if (account.suspended) return 'account_suspended'
  const cap = exchange.hold?.counted === false ? undefined : key.cap
  if (cap !== undefined && cap - key.spent < own + need) return 'key_budget_exhausted'
  const isWithinCap = cap === undefined || cap - key.spent - key.pending >= need
  if (available >= need && isWithinCap) return undefined
  return available + account.pending - own >= need ? 'credit_reserved' : 'credit_exhausted'
}

function reserve(model: Model, exchange: ModelExchange, value: bigint): void {
  at(model.accounts, exchange.account).pending += value
  if (exchange.hold?.counted === true) at(model.keys, exchange.key).pending += value
}

function charge(model: Model, exchange: ModelExchange, cost: bigint): string {
  const account = at(model.accounts, exchange.account)
  if (exchange.hold !== undefined) {
    const { counted } = exchange.hold
    end(model, exchange)
    if (cost > 0n) exchange.usage = { charged: cost, expired: false }
    take(model, exchange, cost, counted)
    return `settled ${cost}`
  }
  const { usage } = exchange
  const charged = usage?.charged ?? 0n
  // What was refunded meanwhile is not given back again.
  const difference = cost > exchange.refunded ? cost - charged : exchange.refunded - charged
  if (usage?.expired === false || exchange.trueUp !== undefined || difference === 0n) return 'duplicate 0'
  exchange.trueUp = difference
  if (difference > 0n) take(model, exchange, difference, true)
  else {
    account.credits -= difference
    giveBack(model, exchange, -difference)
  }
  return `trued_up ${difference}`
}

function expireModel(model: Model, exchange: ModelExchange): void {
  const { hold: held } = exchange
  if (held === undefined) return
  end(model, exchange)
  if (held.progress === 0n) return
  exchange.usage = { charged: held.progress, expired: true }
  take(model, exchange, held.progress, held.counted)
}

function end(model: Model, exchange: ModelExchange): void {
  const { hold: held } = exchange
  if (held === undefined) return
  exchange.hold = undefined
  at(model.accounts, exchange.account).pending -= held.amount
  if (held.counted) at(model.keys, exchange.key).pending -= held.amount
}

function takeOut(account: ModelAccount, value: bigint): void {
  account.debits += value
  const expired = smaller(value, account.expiredLeft)
  account.expiredLeft -= expired
  account.endingLeft -= smaller(value - expired, account.endingLeft)
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}

function take(model: Model, exchange: ModelExchange, cost: bigint, counted: boolean): void {
  takeOut(at(model.accounts, exchange.account), cost)
  const key = at(model.keys, exchange.key)
  if (cost > 0n) exchange.months.add(counted ? key.month : undefined)
  if (counted && key.isCounted) key.spent += cost
}

/** What was charged in a month that is over, or did not count, frees nothing in this one. */
function giveBack(model: Model, exchange: ModelExchange, value: bigint): void {
  const key = at(model.keys, exchange.key)
  if (key.isCounted && [...exchange.months].every(charged => charged === key.month)) key.spent -= value
}

function holdRequest(real: Real, exchange: ModelExchange, amountNano: bigint) {
  return {
    id: exchange.id,
    accountId: at(real.accountIds, exchange.account),
    keyId: at(real.keyIds, exchange.key),
    amountNano,
    priceVersion: 1,
    lifetimeMs: 3_600_000,
  }
}

function verdictOf(answer: HoldResult | Error | undefined): string {
  if (answer === undefined) return 'no answer'
  if (answer instanceof Error) return 'conflict'
  return answer.granted ? 'granted' : answer.reason
}

function availableTo(model: Model, { account }: ModelExchange): bigint {
  const { credits, debits, pending } = at(model.accounts, account)
  return credits - debits - pending
}

/** What may still be set aside, on the account and within the key's cap. */
function creditOf(model: Model, exchange: ModelExchange): string {
  const { cap, spent, pending } = at(model.keys, exchange.key)
  return `${availableTo(model, exchange)} ${cap === undefined ? cap : cap - spent - pending}`
}

function creditIn(answer: HoldResult | Error | undefined): string {
  if (answer === undefined || answer instanceof Error) return 'unknown'
  return `${answer.availableNano} ${answer.keyAvailableNano}`
}

function refusedBy(text: string): (error: unknown) => false {
  return error => {
    if (error instanceof Error && error.message.includes(text)) return false
    throw error
  }
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index]
  if (item === undefined) throw new Error(`the model has nothing at ${index}`)
  return item
}

function assertEqual(expected: unknown, actual: unknown): void {
  if (Bun.deepEquals(expected, actual, true)) return
  throw new Error(`the model says ${Bun.inspect(expected)}, the ledger ${Bun.inspect(actual)}`)
}
