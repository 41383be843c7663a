import type { Extras } from '@/generation/extras.ts'
import {
  type Rates,
  TOKEN_RATE_NAMES,
  type TokenRateName,
  type TokenRates,
  tokenRatesFor,
} from '@/generation/rates.ts'
import { count, dearest, extraLines } from './cost.ts'

/** The most that a request can use, as far as is known before it runs. */
export interface Ceiling extends Extras {
  /** All prompt tokens. */
  inputTokens: number
  /** All tokens of the answer, reasoning included. */
  outputTokens: number
  /** Kinds of tokens that this request cannot use (no audio in it, no cache writes asked for). */
  without?: readonly TokenRateName[]
}

const INPUT_KINDS = ['input', 'cached_input', 'cache_write_5m', 'cache_write_1h', 'input_audio'] as const
const OUTPUT_KINDS = ['output', 'reasoning', 'output_audio'] as const

/**
 * An upper bound in pico units: no usage within the ceiling costs more. Every token is taken to be of the dearest kind
 * that it can be, and the request to be in the dearest tier that it can reach, which need not be the highest.
 */
export function boundOf(ceiling: Ceiling, rates: Rates): bigint {
  const input = count(ceiling.inputTokens, 'inputTokens')
  const output = count(ceiling.outputTokens, 'outputTokens')
  let most = 0n
  for (const { above, perInputToken, perOutputToken } of casesOf(rates, ceiling.without)) {
    if (input <= above) continue
    const cost = input * perInputToken + output * perOutputToken
    if (cost > most) most = cost
  }
  return extrasOf(ceiling, rates) + most
}

/**
 * The most output tokens that so much money is certain to pay for: with one more, `boundOf` would be above it. Undefined
 * if not even the prompt is paid for; LARGEST_COUNT if output is free.
 */
export function affordableOutput(
  ceiling: Omit<Ceiling, 'outputTokens'>,
  rates: Rates,
  availableNano: bigint,
): bigint | undefined {
  const input = count(ceiling.inputTokens, 'inputTokens')
  const available = availableNano * 1000n - extrasOf(ceiling, rates)
  let most = LARGEST_COUNT
  for (const { above, perInputToken, perOutputToken } of casesOf(rates, ceiling.without)) {
    if (input <= above) continue
    const prompt = input * perInputToken
    if (prompt > available) return undefined
    const paid = perOutputToken === 0n ? most : (available - prompt) / perOutputToken
    if (paid < most) most = paid
  }
  return most
}

/** The largest count that a plain number holds exactly. */
export const LARGEST_COUNT = 2n ** 53n - 1n

/** What a token costs at most in one tier, which a prompt of more than `above` tokens can turn out to be in. */
interface Case {
  above: bigint
  perInputToken: bigint
  perOutputToken: bigint
}

/**
 * Whether it makes any difference to a bound that these kinds of tokens are left out beside those that are left out
 * already. Where it does not, nobody needs to find out whether a request can use them.
 */
export function areDearer(
  kinds: readonly TokenRateName[],
  rates: Rates,
  without: readonly TokenRateName[] = [],
): boolean {
  const withThem = casesOf(rates, without)
  return casesOf(rates, [...without, ...kinds]).some(({ perInputToken, perOutputToken }, index) => {
    const other = withThem[index]
    return perInputToken !== other?.perInputToken || perOutputToken !== other.perOutputToken
  })
}

/** By the kinds that are left out, as bits. Rates never change, a price gets new ones. */
const known = new WeakMap<Rates, (readonly Case[] | undefined)[]>()

/** The cases of the base rates, which are always in reach, and of each tier. */
function casesOf(rates: Rates, without: readonly TokenRateName[] = []): readonly Case[] {
  let bits = 0
  for (const kind of without) bits |= 1 << TOKEN_RATE_NAMES.indexOf(kind)
  const ofRates = known.get(rates) ?? []
  const found = ofRates[bits]
  if (found !== undefined) return found
  const made = makeCases(rates, without)
  ofRates[bits] = made
  known.set(rates, ofRates)
  return made
}

function makeCases(rates: Rates, without: readonly TokenRateName[]): Case[] {
  return [-1n, ...rates.tiers.map(({ aboveInputTokens }) => aboveInputTokens)].map(above => {
    const perToken = tokenRatesFor(rates, above + 1n)
    return {
      above,
      perInputToken: dearestOf(perToken, INPUT_KINDS, without),
      perOutputToken: dearestOf(perToken, OUTPUT_KINDS, without),
    }
  })
}

function extrasOf(extras: Extras, rates: Rates): bigint {
  let sum = 0n
  for (const { pico } of extraLines(rates, extras)) sum += pico
  return sum
}

function dearestOf(
  perToken: TokenRates,
  kinds: readonly TokenRateName[],
  without: readonly TokenRateName[],
): bigint {
  return dearest(kinds.filter(kind => !without.includes(kind)).map(kind => perToken[kind]))
}
