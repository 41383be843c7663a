import type { Caller } from '@/accounts/account.ts'
import { GatewayError } from '@/errors/gateway-error.ts'
import { mentions, outlineOf, textsOf } from '@/exchange/admission/body.ts'
import type { Prompt } from '@/exchange/admission/prompt.ts'
import { targetOf } from '@/exchange/admission/target.ts'
import { CODECS } from '@/formats/registry.ts'
import type { Format } from '@/generation/format.ts'
import type { Rates, TokenRateName } from '@/generation/rates.ts'
import type { Reasoning } from '@/generation/request.ts'
import { escapesOf, mayBeEscaped } from '@/json/escapes.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '@/json/json.ts'
import { affordableOutput, areDearer, boundOf, type Ceiling } from '@/pricing/bound.ts'
import { dearest, roundUp } from '@/pricing/cost.ts'
import { isPriced, surfacesPriced, WORKS, type Work } from '@/pricing/coverage.ts'
import type { Model, ModelPrice } from '@/routing/model.ts'
import { ratesInReach } from './service-tier.ts'
import { weighPrompt } from './token-estimate.ts'

/** Output tokens that are set aside at the start of a stream; more is asked for as it flows. */
const FIRST_SLICE = 2048

/** The answer's limit where neither caller, operator nor catalogue names one. */
const UNKNOWN_MAX_OUTPUT = 16_384

/** No known model writes more. A caller's limit counts up to here where neither operator nor catalogue names one. */
const UNKNOWN_STATED_OUTPUT = 131_072

/** Below this an answer is not worth beginning. */
const LEAST_OUTPUT = 256

/** What a request may cost, known before it runs. Outputs are of all its answers together. */
export interface Quote {
  priceVersion: bigint
  rates: Rates
  /** The prompt's tokens as estimated, without the margin that the hold has. */
  inputTokens: number
  /** How many answers the caller wants of one prompt; each may be as long as the stated limit. */
  answers: number
  /** What the caller allows, if the caller says so. */
  statedOutput: number | undefined
  /** The most output there can be. */
  maxOutput: number
  /** Output that the limits reckon with: what the caller allows, else a moderate answer. */
  allowance: number
  /** Whether that is what the caller allows, and no guess. */
  isAllowanceStated: boolean
  /** Output that the first hold pays for. */
  firstOutput: number
  /**
   * Whether an upstream may be called before the hold is durable. Where the hold is refused then, most work ends with the
   * call; a film is made all the same.
   */
  mayBeginEarly: boolean
  /** The cost in nano of the prompt and so much output, at most. */
  bound(outputTokens: number): bigint
  /**
   * The output that so much is certain to pay for; 0 if not even the prompt is paid. Undefined for what cannot be made
   * cheaper by a shorter answer.
   */
  affordable(availableNano: bigint): number | undefined
  /** The largest limit of each answer that a caller may state where so much output is paid for; 0: none. */
  statable(outputTokens: number): number
}

/**
 * What a request on a model may cost.
 * @throws GatewayError `no_channel` for a model without prices: what nobody priced is refused, not free;
 * `surface_not_supported` for one that has prices for other work; `invalid_request` for a limit that cannot be reckoned
 * with
 */
export function quote(prompt: Prompt, model: Model, caller: Caller): Quote {
  const { rates, version } = priceFor('text', prompt.model, model)
  const body = outlineOf(prompt.body)
  const { likely, most } = weighPrompt(body, prompt.body.bytes.length, textsOf(prompt.body))
  const fitting = Math.min(most, Math.max(model.contextTokens ?? most, likely))
  const servers = () => model.routes.map(({ channel }) => channel.format)
  const cases = ratesInReach(rates, prompt.format, body, servers).map(each => ({
    rates: each,
    ceiling: { inputTokens: fitting, without: impossibleKinds(prompt, each) },
  }))
  const stated = statedMaxOutput(prompt.format, body)
  const answers = statedAnswers(prompt.format, body)
  const statedOutput = stated === undefined ? undefined : answers * stated
  const mostAsked = conversionsOf(prompt, model, body)
  const ofEach =
    stated === undefined
      ? (model.maxOutputTokens ?? Math.max(UNKNOWN_MAX_OUTPUT, mostAsked(undefined)))
      : Math.min(Math.max(stated, mostAsked(stated)), model.maxOutputTokens ?? UNKNOWN_STATED_OUTPUT)
  const maxOutput = answers * ofEach + predictedOutput(prompt)
  // An answer in one piece cannot be cut short, nor may an account on trial overrun: all of it is set aside.
  const isWhole = !prompt.stream || caller.onTrial
  return {
    priceVersion: version,
    rates,
    inputTokens: likely,
    answers,
    statedOutput,
    maxOutput,
    allowance: Math.min(maxOutput, statedOutput ?? FIRST_SLICE),
    isAllowanceStated: statedOutput !== undefined,
    firstOutput: isWhole ? maxOutput : Math.min(maxOutput, FIRST_SLICE),
    mayBeginEarly: true,
    bound: outputTokens =>
      roundUp(dearest(cases.map(each => boundOf({ ...each.ceiling, outputTokens }, each.rates)))),
    affordable: availableNano =>
      Math.min(
        ...cases.map(each => {
          const tokens =
            availableNano <= 0n ? undefined : affordableOutput(each.ceiling, each.rates, availableNano)
          return tokens === undefined ? 0 : Number(tokens < BigInt(maxOutput) ? tokens : BigInt(maxOutput))
        }),
      ),
    statable: outputTokens => {
      const each = Math.floor(outputTokens / answers)
      return mostAsked(each) > each ? 0 : each
    },
  }
}

/**
 * What channels of other formats than the body's or the reply's are asked for where the caller states this limit, or none:
 * more than the caller does where thought comes on top of it. 0: none of them is ever asked for more.
 */
function conversionsOf(
  prompt: Prompt,
  model: Model,
  body: JsonObject,
): (limit: number | undefined) => number {
  const routes = model.routes.filter(
    ({ channel: { format } }) => !prompt.isOf(format) && CODECS[format].mostOutput !== undefined,
  )
  if (routes.length === 0) return () => 0
  const reasoning = namesThought(prompt.format, body) ? reasoningOf(prompt) : undefined
  return maxOutputTokens => {
    const wish = { maxOutputTokens, reasoning }
    return Math.max(
      ...routes.map(route => CODECS[route.channel.format].mostOutput?.(wish, targetOf(model, route)) ?? 0),
    )
  }
}

/** Undefined as well where no other format can be told the request: its channels are passed over. */
function reasoningOf(prompt: Prompt): Reasoning | undefined {
  try {
    return prompt.generation().reasoning
  } catch {
    return undefined
  }
}

/** Whether a request may say how much thought it wants: else it need not be decoded to know. */
function namesThought(format: Format, body: JsonObject): boolean {
  return [body, ...settingsOf(format, body)].some(settings =>
    Object.keys(settings).some(name => /reason|think|effort/.test(name)),
  )
}

/** Output that a caller of OpenAI foretells; what of it turns out otherwise is charged as output all the same. */
function predictedOutput({ format, body }: Prompt): number {
  const { prediction } = outlineOf(body)
  if (format !== 'openai-chat-completions' || !isJsonObject(prediction)) return 0
  return weighPrompt({ input: [prediction] }, body.bytes.length, textsOf(body)).most
}

/** What decides the quote of an operation. */
export interface OperationPrice {
  /** What is made; the model's prices must cover it. */
  work: Work
  /** The most that it can use, all of which is set aside; a function where that depends on what is priced. */
  ceiling: Ceiling | ((rates: Rates) => Ceiling)
}

/**
 * What an operation may cost. It cannot be cut, so all of it is set aside.
 * @throws GatewayError `no_channel` for a model without prices; `surface_not_supported` for one that has prices for
 * other work
 */
export function quoteOperation({ work, ceiling: most }: OperationPrice, model: Model): Quote {
  const { rates, version } = priceFor(work, model.id, model)
  const ceiling = typeof most === 'function' ? most(rates) : most
  return {
    priceVersion: version,
    rates,
    inputTokens: ceiling.inputTokens,
    answers: 1,
    statedOutput: ceiling.outputTokens,
    maxOutput: ceiling.outputTokens,
    // The hold is for the worst, the limits for what is usual; what was used takes its place in the end.
    allowance: Math.min(ceiling.outputTokens, FIRST_SLICE),
    isAllowanceStated: false,
    firstOutput: ceiling.outputTokens,
    mayBeginEarly: work !== 'video',
    bound: () => roundUp(boundOf(ceiling, rates)),
    affordable: () => undefined,
    statable: outputTokens => outputTokens,
  }
}

/** A model without any price is its operator's to mend; one that is priced for other work is the wrong one to ask. */
function priceFor(work: Work, name: string, { price }: Model): ModelPrice {
  if (price !== undefined && isPriced(price.rates, work)) return price
  if (price === undefined || !WORKS.some(other => isPriced(price.rates, other))) {
    throw new GatewayError('no_channel', `The model '${name}' has no prices, so it cannot be served`, {
      callerMayRetry: false,
    })
  }
  const surfaces = surfacesPriced(price.rates)
  const reason =
    surfaces.length > 0
      ? `its prices are for ${surfaces.join(', ')}`
      : `it has no price for ${WORK_WORDS[work]}`
  const message = `The model '${name}' is not offered on this surface: ${reason}`
  throw new GatewayError('surface_not_supported', message, { param: 'model' })
}

const WORK_WORDS = {
  text: 'text',
  embedding: 'embeddings',
  image: 'images',
  video: 'videos',
  speech: 'speech',
  transcription: 'transcription',
} as const satisfies Record<Work, string>

/** Whether so much output is worth beginning an answer that nobody limited. */
export function isWorthBeginning(outputTokens: number): boolean {
  return outputTokens >= LEAST_OUTPUT
}

/** Kinds of tokens that most requests cannot use, and that some models charge more for. */
const AUDIO_KINDS: readonly TokenRateName[] = ['input_audio', 'output_audio']
const UNUSUAL_KINDS: readonly TokenRateName[] = [...AUDIO_KINDS, 'cache_write_1h']

/** How Anthropic's callers ask for a cache of an hour. */
const ONE_HOUR = ['"1h"', ...escapesOf('1h')].map(text => Buffer.from(text))
/** What a sound, and the wish for one, has somewhere in its names. */
const AUDIO = Buffer.from('audio')

/** Those that this request cannot use, so that its hold need not cover them. The body is searched only if prices differ. */
function impossibleKinds({ body }: Prompt, rates: Rates): readonly TokenRateName[] {
  if (!areDearer(UNUSUAL_KINDS, rates)) return UNUSUAL_KINDS
  const kinds: TokenRateName[] = ONE_HOUR.some(text => mentions(body, text)) ? [] : ['cache_write_1h']
  return areDearer(AUDIO_KINDS, rates, kinds) && mayHaveSound(body.bytes) ? kinds : [...AUDIO_KINDS, ...kinds]
}

/** A sound may be told by an address or a type within a long string, so the whole body is searched. */
function mayHaveSound({ buffer, byteOffset, length }: Uint8Array): boolean {
  const json = Buffer.from(buffer, byteOffset, length)
  return json.includes(AUDIO) || mayBeEscaped(json, 'audio')
}

/** What a format calls the limit of an answer, and the number of answers. */
const LIMITS = {
  'openai-chat-completions': { limit: ['max_completion_tokens', 'max_tokens'], answers: ['n'] },
  'openai-responses': { limit: ['max_output_tokens'], answers: [] },
  'anthropic-messages': { limit: ['max_tokens'], answers: [] },
  'gemini-generate-content': {
    limit: ['maxOutputTokens', 'max_output_tokens'],
    answers: ['candidateCount', 'candidate_count'],
  },
} as const satisfies Record<Format, { limit: readonly string[]; answers: readonly string[] }>

/**
 * The output limit that the caller states for each answer; undefined if there is none. Of several the largest: which of
 * them an upstream goes by is not known here.
 * @throws GatewayError `invalid_request`
 */
function statedMaxOutput(format: Format, body: JsonObject): number | undefined {
  return largestOf(settingsOf(format, body), LIMITS[format].limit, OUTPUT_RANGE)
}

function statedAnswers(format: Format, body: JsonObject): number {
  return largestOf(settingsOf(format, body), LIMITS[format].answers, ANSWERS_RANGE) ?? 1
}

interface Range {
  least: number
  most: number
}

/** Up to what callers write who mean that there is no limit. */
const OUTPUT_RANGE: Range = { least: 0, most: 2 ** 31 - 1 }
const ANSWERS_RANGE: Range = { least: 1, most: 1_000 }

function largestOf(
  places: readonly JsonObject[],
  names: readonly string[],
  range: Range,
): number | undefined {
  let largest: number | undefined
  for (const settings of places) {
    for (const name of names) {
      const stated = wholeNumber(settings, name, range)
      if (stated !== undefined && (largest === undefined || stated > largest)) largest = stated
    }
  }
  return largest
}

/** Where a format has them. */
function settingsOf(format: Format, body: JsonObject): JsonObject[] {
  if (format !== 'gemini-generate-content') return [body]
  return [body['generationConfig'], body['generation_config']].filter(isJsonObject)
}

function wholeNumber(settings: JsonObject, name: string, { least, most }: Range): number | undefined {
  const value = numberOf(settings[name])
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return value
  const message = `'${name}' must be a whole number from ${least} to ${most}`
  throw new GatewayError('invalid_request', message, { param: name })
}

/**
 * A number, also one that is written as a text: Google's JSON takes it so, and many a server of Chat. One that no double
 * holds (1e400) is infinite.
 */
function numberOf(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'string' && /^\s*[+-]?\d+(\.0*)?\s*$/.test(value)) return Number(value)
  return typeof value === 'number' ? value : undefined
}
