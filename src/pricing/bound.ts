import type { Extras } from '@/generation/extras.ts'
import { type Rates, type TokenRateName, type TokenRates, tokenRatesFor } from '@/generation/rates.ts'
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
  return available < 0n ? undefined : most
}

/** The largest count that a plain number holds exactly. */
export const LARGEST_COUNT = 2n ** 53n - 1n

/** What a token costs at most in one tier, which a prompt of more than `above` tokens can turn out to be in. */
interface Case {
  above: bigint
  perInputToken: bigint
  perOutputToken: bigint
}

/** By the kinds that are left out. Rates never change, a price gets new ones. */
const known = new WeakMap<Rates, Map<string, readonly Case[]>>()

/** The cases of the base rates, which are always in reach, and of each tier. */
function casesOf(rates: Rates, without: readonly TokenRateName[] = []): readonly Case[] {
  const name = without.length === 0 ? '' : without.join()
  const ofRates = known.get(rates) ?? new Map<string, readonly Case[]>()
  const found = ofRates.get(name)
  if (found !== undefined) return found
  const made = [-1n, ...rates.tiers.map(({ aboveInputTokens }) => aboveInputTokens)].map(above => {
    const perToken = tokenRatesFor(rates, above + 1n)
    return {
      above,
      perInputToken: dearestOf(perToken, INPUT_KINDS, without),
      perOutputToken: dearestOf(perToken, OUTPUT_KINDS, without),
    }
  })
  known.set(rates, ofRates.set(name, made))
  return made
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
