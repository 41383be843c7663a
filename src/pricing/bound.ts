import { type Rates, type TokenRateName, type TokenRates, tokenRatesFor } from '@/generation/rates.ts'
import { count, dearest, type Extras, extraLines } from './cost.ts'

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
  const tokens = reachableRates(rates, input).map(
    perToken =>
      input * dearestOf(perToken, INPUT_KINDS, ceiling.without) +
      output * dearestOf(perToken, OUTPUT_KINDS, ceiling.without),
  )
  return extraLines(rates, ceiling).reduce((sum, { pico }) => sum + pico, dearest(tokens))
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
