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
  const output = count(ceiling.outputTokens, 'outputTokens')
  const costs = casesOf(ceiling, rates).map(({ prompt, perOutputToken }) => prompt + output * perOutputToken)
  return extrasOf(ceiling, rates) + dearest(costs)
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
  const available = availableNano * 1000n - extrasOf(ceiling, rates)
  let most = LARGEST_COUNT
  for (const { prompt, perOutputToken } of casesOf(ceiling, rates)) {
    if (prompt > available) return undefined
    const paid = perOutputToken === 0n ? most : (available - prompt) / perOutputToken
    if (paid < most) most = paid
  }
  return available < 0n ? undefined : most
}

/** The largest count that a plain number holds exactly. */
export const LARGEST_COUNT = 2n ** 53n - 1n

/** What the prompt and each output token cost at most, in each tier that the request can reach. */
function casesOf(ceiling: Omit<Ceiling, 'outputTokens'>, rates: Rates) {
  const input = count(ceiling.inputTokens, 'inputTokens')
  return reachableRates(rates, input).map(perToken => ({
    prompt: input * dearestOf(perToken, INPUT_KINDS, ceiling.without),
    perOutputToken: dearestOf(perToken, OUTPUT_KINDS, ceiling.without),
  }))
}

function extrasOf(extras: Extras, rates: Rates): bigint {
  return extraLines(rates, extras).reduce((sum, { pico }) => sum + pico, 0n)
}

/** The rates of every tier that a prompt of up to so many tokens may turn out to be in. */
function reachableRates(rates: Rates, inputTokens: bigint): TokenRates[] {
  const lengths = rates.tiers
    .filter(({ aboveInputTokens }) => inputTokens > aboveInputTokens)
    .map(({ aboveInputTokens }) => aboveInputTokens + 1n)
  return [0n, ...lengths].map(length => tokenRatesFor(rates, length))
}

function dearestOf(
  perToken: TokenRates,
  kinds: readonly TokenRateName[],
  without: readonly TokenRateName[] = [],
): bigint {
  return dearest(kinds.filter(kind => !without.includes(kind)).map(kind => perToken[kind]))
}
