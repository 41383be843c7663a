import type { EncodedRequest, Target } from '@/formats/codec.ts'
import { isUnthought, nearestEffort, thinksAnyway, wantedEffort } from '@/formats/effort.ts'
import { fitKey, fitLimit } from '@/formats/fitted-values.ts'
import { unsayable } from '@/formats/invalid.ts'
import { likedEffort } from '@/formats/openai/models.ts'
import { fitOutput } from '@/formats/openai/schemas.ts'
import { isSharedHint, MAX_KEY, takenSampling, userFields } from '@/formats/openai/shared-fields.ts'
import { FORMAT } from '@/formats/openai-chat-completions/wire.ts'
import { schemaName } from '@/formats/schemas/output-format.ts'
import { onlyAllowed } from '@/formats/tools/allowed.ts'
import { dropHostedTools } from '@/formats/tools/hosted.ts'
import { type GenerationRequest, limitsEffort, type OutputFormat } from '@/generation/request.ts'
import { readServiceTier } from '@/generation/service-tier.ts'
import { type JsonObject, type JsonValue, present } from '@/json/json.ts'
import { encodeMessages } from './message-encode.ts'
import { takenForce } from './taken-force.ts'
import { takenOutput } from './taken-output.ts'
import { TargetRules } from './target-rules.ts'
import { canServe, encodeToolChoice, encodeTools, searchOptions } from './tools-encode.ts'

/** OpenAI's limit of stop sequences. */
const MAX_STOPS = 4

/** Writes a request for an upstream of any vendor of this format. Keys come in one order, always. */
export function encodeRequest(full: GenerationRequest, target: Target): EncodedRequest {
  const rules = new TargetRules(target)
  const dropped = dropHostedTools(full, tool => canServe(tool, rules))
  rules.losses.addAll(dropped.losses)
  const written = fitOutput(takenOutput(dropped.request, rules), target, rules.losses)
  // OpenAI alone knows a choice among several tools.
  const asked = rules.vendor.isOpenai ? written : takenForce({ ...written, ...onlyAllowed(written) }, rules)
  const reasoned = encodeReasoning(asked, rules)
  const sampling = takenSampling(asked, rules.model, reasoned['reasoning_effort'], rules.losses)
  const request = { ...asked, ...sampling }
  const { model: _, stream, instructions, turns, tools, toolChoice, parallelToolCalls, ...shaping } = request
  const { output, verbosity, reasoning: _reasoned, maxOutputTokens, modalities, stop, ...hinting } = shaping
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty, logitBias, ...asking } = hinting
  const {
    logprobs,
    candidates,
    user,
    metadata,
    promptCacheKey,
    serviceTier,
    store,
    extensions,
    unread: _unread,
    ...rest
  } = asking
  rest satisfies Record<string, never>
  const emulatedStop = rules.refuses('stop') ? stop : []
  const encodedTools = encodeTools(tools, rules)
  const own = ownExtensions(extensions, rules)
  const body: JsonObject = {
    model: target.model,
    messages: encodeMessages(instructions, turns, rules),
    stream: stream ? true : undefined,
    stream_options: stream && rules.vendor.takesStreamOptions ? { include_usage: true } : undefined,
    tools: encodedTools.length === 0 ? undefined : encodedTools,
    ...(encodedTools.length === 0 ? {} : encodeChoices(toolChoice, parallelToolCalls, tools, rules)),
    tool_stream: stream && encodedTools.length > 0 && rules.served.toolStream ? true : undefined,
    web_search_options: searchOptions(tools, rules),
    response_format: encodeOutput(output),
    ...encodeLength(maxOutputTokens, target, rules),
    ...reasoned,
    verbosity: rules.take('verbosity', verbosity, 'medium'),
    temperature: rules.take('temperature', fitTemperature(temperature, rules), 1),
    top_p: rules.take('topP', topP, 1),
    top_k: rules.take('topK', topK),
    stop: emulatedStop.length > 0 ? undefined : encodeStop(stop, rules),
    [rules.vendor.isMistral ? 'random_seed' : 'seed']: rules.take('seed', seed),
    presence_penalty: rules.take('presencePenalty', presencePenalty, 0),
    frequency_penalty: rules.take('frequencyPenalty', frequencyPenalty, 0),
    logit_bias: rules.take('logitBias', logitBias),
    ...encodeLogprobs(rules.take('logprobs', logprobs)),
    n: candidates === 1 ? undefined : rules.take('candidates', candidates),
    ...encodeModalities(modalities, extensions[FORMAT]?.['audio'], stream),
    ...userFields(rules.take('user', user), own?.['user']),
    metadata: rules.take('metadata', metadata),
    prompt_cache_key: rules.take('promptCacheKey', fitKey(promptCacheKey, MAX_KEY)),
    service_tier: encodeTier(serviceTier, rules),
    store: encodeStore(store, rules),
  }
  return {
    // What only this format has a word for stands in for what says nothing, in the same place.
    body: present({ ...body, ...own, ...present({ ...body }) }),
    losses: rules.losses.list,
    headers: {},
    emulate: { stop: emulatedStop, outputTool: undefined },
  }
}

/** What this format alone has a name for. Hints of OpenAI's mean nothing to other vendors, some of whom refuse them. */
function ownExtensions(
  { [FORMAT]: own, 'openai-responses': shared }: GenerationRequest['extensions'],
  rules: TargetRules,
): JsonObject | undefined {
  if (own === undefined || shared === undefined || rules.vendor.isOpenai) return own
  const hints = Object.keys(own).filter(isSharedHint)
  for (const name of hints) rules.losses.add('extension', name)
  return Object.fromEntries(Object.entries(own).filter(([name]) => !hints.includes(name)))
}

function encodeChoices(
  choice: GenerationRequest['toolChoice'],
  parallel: boolean | undefined,
  tools: GenerationRequest['tools'],
  rules: TargetRules,
): JsonObject {
  return {
    tool_choice: choice === undefined ? undefined : encodeToolChoice(choice, tools),
    parallel_tool_calls: rules.take('parallelToolCalls', parallel, true),
  }
}

function encodeOutput(output: OutputFormat | undefined): JsonObject | undefined {
  if (output === undefined || output.type === 'text') return undefined
  if (output.type === 'json') return { type: 'json_object' }
  const { description, strict } = output
  return {
    type: 'json_schema',
    json_schema: present({
      name: schemaName(output, 64, 'response'),
      description,
      schema: output.schema,
      strict: strict === 'where-possible' ? undefined : strict,
    }),
  }
}

function encodeLength(max: number | undefined, target: Target, rules: TargetRules): JsonObject {
  if (max === undefined) return {}
  const tokens = fitLimit(max, 1, target.maxOutputTokens, rules.losses)
  return rules.model.isNewer ? { max_completion_tokens: tokens } : { max_tokens: tokens }
}

function fitTemperature(asked: number | undefined, { vendor, losses }: TargetRules): number | undefined {
  if (asked === undefined || vendor.temperatures === undefined) return asked
  const [least, most] = vendor.temperatures
  const fitted = Math.min(most, Math.max(least, asked))
  if (fitted !== asked) losses.add('temperature')
  return fitted
}

function encodeReasoning({ reasoning, tools }: GenerationRequest, rules: TargetRules): JsonObject {
  if (reasoning === undefined) return {}
  const liked = likedEffort(reasoning, rules.model)
  // From gpt-5.4 on no effort is taken beside tools in this format.
  if (liked !== undefined && tools.length > 0) {
    rules.losses.add('reasoning')
    return {}
  }
  const wanted = wantedEffort(reasoning) ?? liked
  if (wanted === undefined) return {}
  if (limitsEffort(reasoning)) rules.losses.add('reasoningBudget')
  if (wanted === 'none' && rules.served.unthinking !== undefined) return encodeOff(rules)
  const efforts = rules.model.efforts ?? rules.served.efforts ?? rules.vendor.efforts
  if (efforts?.every(effort => effort === 'none') === true && !isUnthought(wanted)) {
    rules.losses.add('reasoningEffort')
    return {}
  }
  const effort = efforts === undefined ? wanted : nearestEffort(wanted, efforts)
  if (thinksAnyway(wanted, effort)) rules.losses.add('reasoning')
  return { reasoning_effort: rules.take('reasoning', effort, 'none') }
}

/** Where an effort of `none` is passed over and the model thinks on. */
function encodeOff({ served: { unthinking }, losses }: TargetRules): JsonObject {
  if (typeof unthinking === 'object') return unthinking
  losses.add('reasoning')
  return {}
}

function encodeStop(stop: readonly string[], rules: TargetRules): string[] | undefined {
  if (stop.length === 0) return undefined
  if (rules.vendor.isOpenai && stop.length > MAX_STOPS) {
    throw unsayable('stop', `has more than the ${MAX_STOPS} sequences that the model behind this name takes`)
  }
  return [...stop]
}

function encodeLogprobs(logprobs: GenerationRequest['logprobs']): JsonObject {
  return logprobs === undefined ? {} : { logprobs: true, top_logprobs: logprobs.top }
}

/**
 * Text alone is what every model does. Sound needs a voice: the caller's own, which no other format has. A stream has it
 * as PCM only, and sound never comes without words.
 */
function encodeModalities(
  modalities: GenerationRequest['modalities'],
  voice: JsonValue | undefined,
  stream: boolean,
): JsonObject {
  if (!modalities.some(kind => kind !== 'text')) return {}
  const audio = modalities.includes('audio')
    ? { audio: voice ?? { voice: 'alloy', format: stream ? 'pcm16' : 'wav' } }
    : {}
  return { modalities: [...modalities], ...audio }
}

/** Other formats' words for a tier. */
const TIERS: ReadonlyMap<string, string> = new Map([
  ['standard', 'default'],
  ['standard_only', 'default'],
  ['ultrafast', 'fast'],
])

/** Where there is one service alone, the ordinary one goes without saying. */
function encodeTier(tier: string | undefined, rules: TargetRules): string | undefined {
  const word = tier && (TIERS.get(tier.toLowerCase()) ?? tier)
  const means = readServiceTier(tier)
  return rules.take('serviceTier', word, means === 'open' || means === 'ordinary' ? word : undefined)
}

/** Only OpenAI keeps answers; elsewhere not keeping them goes without saying. */
function encodeStore(store: boolean | undefined, rules: TargetRules): boolean | undefined {
  if (rules.vendor.isOpenai) return store
  if (store === true) rules.losses.add('store')
  return undefined
}
