import type { Caller } from '@/accounts/account.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import type { Format } from '@/generation/format.ts'
import type { Rates, TokenRateName } from '@/generation/rates.ts'
import { asNumber, asObject, type JsonObject } from '@/json/json.ts'
import { affordableOutput, boundOf } from '@/pricing/bound.ts'
import { roundUp } from '@/pricing/cost.ts'
import { isPriced } from '@/pricing/coverage.ts'
import type { Model } from '@/routing/model.ts'
import type { OperationPrice } from './operation.ts'
import type { Prompt } from './prompt.ts'
import { estimateTokens, withMargin } from './token-estimate.ts'

/** Output tokens that are set aside at the start of a stream; more is asked for as it flows. */
const FIRST_SLICE = 2048

/** The answer's limit where neither caller, operator nor catalogue names one. */
const UNKNOWN_MAX_OUTPUT = 16_384

/** Below this an answer is not worth beginning. */
const LEAST_OUTPUT = 256

/** What a request may cost, known before it runs. */
export interface Quote {
  priceVersion: bigint
  rates: Rates
  /** The prompt's tokens as estimated, without the margin that the hold has. */
  inputTokens: number
  /** What the caller allows, if the caller says so. */
  statedOutput: number | undefined
  /** The most output there can be. */
  maxOutput: number
  /** Output that the limits reckon with: what the caller allows, else a moderate answer. */
  allowance: number
  /** Output that the first hold pays for. */
  firstOutput: number
  /** The cost in nano of the prompt and so much output, at most. */
  bound(outputTokens: number): bigint
  /**
   * The output that so much is certain to pay for; 0 if not even the prompt is paid. Undefined for what cannot be made
   * cheaper by a shorter answer.
   */
  affordable(availableNano: bigint): number | undefined
}

/**
 * What a request on a model may cost.
 * @throws GatewayError `no_channel` for a model without prices: what nobody priced is refused, not free
 */
export function quote(prompt: Prompt, model: Model, caller: Caller): Quote {
  const { price } = model
  if (price === undefined || !isPriced(price.rates, 'text')) throw unpriced(prompt.model)
  const { rates, version } = price
  const inputTokens = estimateTokens(prompt.body.json, prompt.body.bytes.length)
  const ceiling = { inputTokens: withMargin(inputTokens), without: impossibleKinds(prompt) }
  const statedOutput = statedMaxOutput(prompt.format, prompt.body.json)
  const maxOutput = Math.min(
    statedOutput ?? Number.POSITIVE_INFINITY,
    model.maxOutputTokens ?? UNKNOWN_MAX_OUTPUT,
  )
  // What cannot be cut, and whoever has not paid yet, sets all of it aside.
  const isWhole = !prompt.stream || caller.onTrial
  return {
    priceVersion: version,
    rates,
    inputTokens,
    statedOutput,
    maxOutput,
    allowance: Math.min(maxOutput, statedOutput ?? FIRST_SLICE),
    firstOutput: isWhole ? maxOutput : Math.min(maxOutput, FIRST_SLICE),
    bound: outputTokens => roundUp(boundOf({ ...ceiling, outputTokens }, rates)),
    affordable: availableNano => {
      const tokens = availableNano <= 0n ? undefined : affordableOutput(ceiling, rates, availableNano)
      return tokens === undefined ? 0 : Number(tokens < BigInt(maxOutput) ? tokens : BigInt(maxOutput))
    },
  }
}

/**
 * What an operation may cost. It cannot be cut, so all of it is set aside.
 * @throws GatewayError `no_channel` for a model without prices for such work
 */
export function quoteOperation({ work, ceiling: most }: OperationPrice, { id, price }: Model): Quote {
  if (price === undefined || !isPriced(price.rates, work)) throw unpriced(id)
  const { rates, version } = price
  const ceiling = typeof most === 'function' ? most(rates) : most
  return {
    priceVersion: version,
    rates,
    inputTokens: ceiling.inputTokens,
    statedOutput: ceiling.outputTokens,
    maxOutput: ceiling.outputTokens,
    allowance: ceiling.outputTokens,
    firstOutput: ceiling.outputTokens,
    bound: () => roundUp(boundOf(ceiling, rates)),
    affordable: () => undefined,
  }
}

function unpriced(model: string): GatewayError {
  return new GatewayError('no_channel', `The model '${model}' has no prices, so it cannot be served`)
}

/** Whether so much output is worth beginning an answer that nobody limited. */
export function isWorthBeginning(outputTokens: number): boolean {
  return outputTokens >= LEAST_OUTPUT
}

/** Kinds of tokens that this request cannot use, so that its hold needs not reckon with them. */
function impossibleKinds(prompt: Prompt): TokenRateName[] {
  const body = Buffer.from(
    prompt.body.bytes.buffer,
    prompt.body.bytes.byteOffset,
    prompt.body.bytes.byteLength,
  )
  const kinds: TokenRateName[] = []
  if (!body.includes('audio')) kinds.push('input_audio', 'output_audio')
  if (!body.includes('"1h"')) kinds.push('cache_write_1h')
  return kinds
}

/** The output limit that the caller states, in each format's own field; undefined if there is none. */
export function statedMaxOutput(format: Format, body: JsonObject): number | undefined {
  switch (format) {
    case 'openai-chat-completions':
      return asNumber(body['max_completion_tokens']) ?? asNumber(body['max_tokens'])
    case 'openai-responses':
      return asNumber(body['max_output_tokens'])
    case 'anthropic-messages':
      return asNumber(body['max_tokens'])
    case 'gemini-generate-content': {
      const config = asObject(body['generationConfig']) ?? asObject(body['generation_config'])
      return asNumber(config?.['maxOutputTokens']) ?? asNumber(config?.['max_output_tokens'])
    }
  }
}
