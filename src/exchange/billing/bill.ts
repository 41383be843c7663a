import type { GatewayError } from '@/errors/gateway-error.ts'
import type { Charge } from '@/exchange/record.ts'
import { ratesIn } from '@/generation/rates.ts'
import { replay } from '@/generation/replay.ts'
import type { ServiceTier } from '@/generation/service-tier.ts'
import { NO_USAGE, outputTokens, type Usage, wholeCounts } from '@/generation/usage.ts'
import type { Ledger } from '@/ledger/ledger.ts'
import type { DenialReason, HoldResult, SettleResult } from '@/ledger/types.ts'
import { costOf, roundUp } from '@/pricing/cost.ts'
import { LARGEST_NANO } from '@/pricing/money.ts'
import type { CreditWatch } from './credit.ts'
import { denied, isOfMoney, usedUpBy } from './denial.ts'
import { Meter } from './meter.ts'
import { isWorthBeginning, type Quote } from './quote.ts'
import { type AskedUpstream, chargedTier } from './service-tier.ts'
import type { Told, UsedUp } from './used-up.ts'

/** Largest step by which a running stream's hold grows, in output tokens. */
const LARGEST_STEP = 16_384

/**
 * A hold is settled at its last checkpoint after this long, whatever became of its owner: four hours, and a day by which
 * somebody may set the clock of the database forward.
 */
const LIFETIME_MS = (4 + 24) * 60 * 60 * 1000

/** The ledger stores progress every 2 s: not every look needs to be priced. */
const LOOKS_PER_PROGRESS = 4

/** Whose money it is, and how much of it the request may cost. */
interface BillOptions {
  ledger: Ledger
  credit: CreditWatch
  quote: Quote
  exchange: { id: string; accountId: number; keyId: number }
  /** Milliseconds since 1970. */
  now: () => number
  /** What the upstream of the last attempt was asked for; undefined: there was none. */
  asked: () => AskedUpstream | undefined
}

/**
 * The money of one exchange: set aside before any byte reaches the caller, grown while the answer flows, charged once
 * at its end with what was really used.
 */
export class Bill {
  readonly quote: Quote
  /** What the first hold sets aside. */
  readonly firstNano: bigint
  /** What an early start relies on: the first hold, or all that the caller states. */
  readonly expectedNano: bigint
  /** What the whole answer may cost. */
  readonly #mostNano: bigint
  readonly #options: BillOptions
  /** Output that is paid for so far; what the first hold is for, while that is on its way. */
  #paidOutput: number
  #isEntrusted = false
  #isExtending = false
  #looks = 0
  /** Output when the ledger was last told: an upstream that reports as it goes may tell of more than can be seen. */
  #toldOutput = 0
  /** Output that can be paid for, as the ledger said when it refused more; undefined: it did not. */
  #reach: number | undefined
  /** Why nothing more was to be had when it was last asked for: the stream ends when what is paid for was delivered. */
  #refusal: DenialReason | undefined
  /** What was priced last: an answer that comes to its end is priced when it is about to, and again when it has. */
  #priced: { used: UsedUp; charge: Charge } | undefined

  constructor(options: BillOptions) {
    this.#options = options
    const { quote } = options
    this.quote = quote
    this.#paidOutput = quote.firstOutput
    this.firstNano = holdOf(quote.bound(quote.firstOutput))
    this.#mostNano =
      quote.maxOutput > quote.firstOutput ? holdOf(quote.bound(quote.maxOutput)) : this.firstNano
    this.expectedNano = quote.statedOutput === undefined ? this.firstNano : this.#mostNano
  }

  /**
   * Sets the first slice aside; it is durable when this resolves.
   * @returns the output limit that the request must get because the balance pays for no more; undefined: none
   * @throws GatewayError of 402 or 403, or `billing_unavailable`
   */
  async reserve(): Promise<number | undefined> {
    const { quote } = this
    const result = await this.#hold(this.firstNano)
    if (!result.granted) return this.#reserveLess(result)
    const available = least(result.availableNano, result.keyAvailableNano)
    if (available >= this.#mostNano - this.firstNano) return undefined
    const affordable = quote.affordable(available + this.firstNano)
    if (quote.statedOutput === undefined) return affordable && this.#ofEach(affordable)
    return await this.#reserveAll(affordable)
  }

  /** What the caller states must be payable. The ledger knows why it is not, or that it is by now. */
  async #reserveAll(affordable: number | undefined): Promise<undefined> {
    const { ledger, exchange } = this.#options
    try {
      const result = await ledger.extend({ ...exchange, amountNano: this.#mostNano })
      if (!result.granted) throw this.#denied(result.reason, affordable, result)
    } catch (error) {
      await this.release()
      throw error
    }
    this.#paidOutput = this.quote.maxOutput
    return undefined
  }

  /** The first slice was refused: an answer that nobody limited may be given as far as the balance goes. */
  async #reserveLess(result: HoldResult & { granted: false }): Promise<number> {
    const { quote } = this
    const available = least(result.availableNano, result.keyAvailableNano)
    const affordable = quote.affordable(available)
    const isShort = result.reason === 'credit_exhausted' || result.reason === 'key_budget_exhausted'
    const mayBeLess = quote.statedOutput === undefined && isShort
    if (!mayBeLess || affordable === undefined || !isWorthBeginning(this.#ofEach(affordable)))
      throw this.#denied(result.reason, affordable, result)
    const second = await this.#hold(holdOf(quote.bound(affordable)))
    if (!second.granted) throw this.#denied(second.reason, affordable, second)
    this.#paidOutput = affordable
    return this.#ofEach(affordable)
  }

  /** The output limit that each answer gets, of what is there for all of them. */
  #ofEach(output: number): number {
    return Math.floor(output / this.quote.answers)
  }

  /**
   * Called every so often while the answer flows: tells what it has cost, and sets more aside in time. The result is
   * the error that the answer must end in.
   */
  tick(meter: Meter): GatewayError | undefined {
    if (meter.hasWorked && this.#looks++ % LOOKS_PER_PROGRESS === 0) {
      const soFar = this.#soFar(meter)
      this.progress(soFar)
      this.#toldOutput = outputTokens(soFar.usage)
    }
    const used = Math.max(this.#toldOutput, meter.estimatedOutput)
    if (this.#refusal !== undefined && used >= this.#paidOutput) return usedUpBy(this.#refusal)
    const isLow = used * 2 >= this.#paidOutput && this.#paidOutput < this.quote.maxOutput
    if (isLow && !this.#isExtending) this.#extend()
    return undefined
  }

  #extend(): void {
    const { ledger, exchange } = this.#options
    const { quote } = this
    const step = Math.min(this.#paidOutput, LARGEST_STEP)
    const wanted = Math.min(this.#paidOutput + step, quote.maxOutput)
    const output = Math.min(wanted, this.#reach ?? wanted)
    this.#isExtending = true
    ledger
      .extend({ ...exchange, amountNano: holdOf(quote.bound(output)) })
      .then(result => {
        this.#reach = undefined
        this.#refusal = undefined
        if (result.granted) this.#paidOutput = output
        else this.#refused(result)
      })
      // A database that is away stops nobody's stream: what was used is charged in the end.
      .catch(() => undefined)
      .finally(() => {
        this.#isExtending = false
      })
  }

  /** What is left may pay for a part of what was asked for: that is asked for next. */
  #refused(result: HoldResult & { granted: false }): void {
    const { quote } = this
    if (!isOfMoney(result.reason)) {
      this.#refusal = result.reason
      return
    }
    const available = least(result.availableNano, result.keyAvailableNano)
    const affordable = quote.affordable(available + holdOf(quote.bound(this.#paidOutput))) ?? 0
    if (affordable > this.#paidOutput) this.#reach = affordable
    // Its stream ends now, whoever else runs: what tells most is whose limit it is.
    else this.#refusal = available < result.availableNano ? 'key_budget_exhausted' : result.reason
  }

  /** Tells what an answer that still flows has cost: what is charged if this process dies. */
  progress(used: UsedUp): void {
    const { ledger, exchange } = this.#options
    ledger.progress(exchange.id, this.charge(used).nano)
  }

  /** Notes what an answer that is about to end has cost: what is charged if this process dies before it settles. */
  note(used: UsedUp): void {
    const { ledger, exchange } = this.#options
    const { nano, pico } = this.charge(used)
    ledger.note({ ...exchange, costNano: nano, costPico: pico })
  }

  /** What so much usage costs by the prices of the start. */
  charge(used: UsedUp): Charge {
    const priced = this.#priced
    if (priced !== undefined && isSame(priced.used, used)) return priced.charge
    const { usage, extras, serviceTier } = used
    const { rates, priceVersion } = this.quote
    const { pico } = costOf(wholeCounts(usage), ratesIn(rates, serviceTier), extras)
    const charge = { pico, nano: roundUp(pico), priceVersion, serviceTier }
    this.#priced = { used, charge }
    return charge
  }

  /**
   * What was used in the end: as the upstream reported it; where it did not, or was cut off before it could, what was
   * counted here. Undefined when there was no answer, which is free.
   */
  usedUp(meter: Meter): UsedUp | undefined {
    const usage = meter.wholeUsage
    if (usage !== undefined && meter.finished) return this.#reported(usage, meter.servedTier)
    // Of what failed before the caller would have seen any of it, another attempt can be made.
    const isPaid = meter.error === undefined ? meter.hasWorked : meter.output
    return isPaid ? this.#soFar(meter) : undefined
  }

  /** The same for an answer that came whole. */
  usedUpWhole(told: Told, servedTier?: string): UsedUp {
    if (!('candidates' in told)) return this.#reported(told.usage, servedTier)
    if (told.usage !== undefined) return this.#reported(told.usage, servedTier)
    const meter = new Meter(undefined, () => servedTier)
    for (const event of replay(told)) meter.observe(event)
    return this.#soFar(meter)
  }

  #reported(usage: Usage, servedTier: string | undefined): UsedUp {
    return { usage, source: 'reported', serviceTier: this.#tierOf(servedTier) }
  }

  #tierOf(servedTier: string | undefined): ServiceTier | undefined {
    return chargedTier(this.quote.rates, servedTier, this.#options.asked)
  }

  #soFar(meter: Meter): UsedUp {
    const reported = meter.usage ?? { ...NO_USAGE, inputUncached: this.quote.inputTokens }
    const unreported = Math.max(0, meter.estimatedOutput - outputTokens(reported))
    return {
      usage: { ...reported, outputText: reported.outputText + unreported },
      source: 'estimated',
      serviceTier: this.#tierOf(meter.servedTier),
    }
  }

  /** Charges the exchange; nobody waits for it. */
  async settle(charge: Charge): Promise<SettleResult> {
    const { ledger, exchange, credit } = this.#options
    const result = await ledger.settle({ ...exchange, costNano: charge.nano, costPico: charge.pico })
    credit.answered(exchange.accountId, 0n, result.availableNano)
    return result
  }

  /** Gives everything back, as there was no answer; but what a job answers for. */
  async release(): Promise<void> {
    if (!this.#isEntrusted) await this.#options.ledger.release(this.#options.exchange)
  }

  /**
   * Hands the hold to a job, which answers for it from now on. Where that fails it may have been done all the same, so nothing
   * is given back: a hold that nobody answers for is freed by the ledger.
   * @param hand does it, of a hold of so much
   */
  async entrust(hand: (heldNano: bigint) => Promise<void>): Promise<void> {
    this.#isEntrusted = true
    try {
      await hand(this.firstNano)
    } finally {
      this.#options.ledger.entrusted(this.#options.exchange.id)
    }
  }

  #denied(reason: DenialReason, affordable: number | undefined, result: HoldResult): GatewayError {
    return denied(reason, affordable && this.quote.statable(affordable), result.resetsAt, this.#options.now())
  }

  async #hold(amountNano: bigint): Promise<HoldResult> {
    const { ledger, credit, exchange, quote } = this.#options
    credit.asked(exchange.accountId, amountNano)
    let available: bigint | undefined
    try {
      const result = await ledger.hold({
        ...exchange,
        amountNano,
        priceVersion: Number(quote.priceVersion),
        lifetimeMs: LIFETIME_MS,
      })
      available = result.availableNano
      return result
    } finally {
      credit.answered(exchange.accountId, amountNano, available)
    }
  }
}

function isSame(one: UsedUp, other: UsedUp): boolean {
  return one.usage === other.usage && one.extras === other.extras && one.serviceTier === other.serviceTier
}

/**
 * What the ledger sets aside for a bound: never nothing, even where tokens are free. A bound beyond its numbers is beyond
 * every balance, too.
 */
function holdOf(nano: bigint): bigint {
  if (nano > LARGEST_NANO) return LARGEST_NANO
  return nano > 0n ? nano : 1n
}

function least(one: bigint, other: bigint | undefined): bigint {
  return other === undefined || one < other ? one : other
}
