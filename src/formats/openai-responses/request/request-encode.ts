import type { EncodedRequest, Target } from '@/formats/codec.ts'
import { nearestEffort, thinksAnyway, wantedEffort } from '@/formats/effort.ts'
import { nestExtensions } from '@/formats/extensions.ts'
import { fitKey, fitLimit } from '@/formats/fitted-values.ts'
import { refuseSeveral, unsayable } from '@/formats/invalid.ts'
import { Losses, loseUnsupported, type RareField } from '@/formats/losses.ts'
import { isOpenais, likedEffort, type OpenaiModel, openaiModel } from '@/formats/openai/models.ts'
import { fitOutput } from '@/formats/openai/schemas.ts'
import { MAX_KEY, OPENAI_TIERS, takenSampling, userFields } from '@/formats/openai/shared-fields.ts'
import { isOpenai } from '@/formats/openai/vendor.ts'
import { ENCRYPTED, FORMAT, LOGPROBS } from '@/formats/openai-responses/wire.ts'
import { schemaName } from '@/formats/schemas/output-format.ts'
import { onlyAllowed } from '@/formats/tools/allowed.ts'
import type { RequestField } from '@/generation/loss.ts'
import { type GenerationRequest, limitsEffort, type OutputFormat, type Turn } from '@/generation/request.ts'
import { asObject, asStrings, type JsonObject, keysOf, present } from '@/json/json.ts'
import { encodeHistory } from './history.ts'
import { withoutRefusedThought } from './refused-thought.ts'
import { encodeToolChoice } from './tool-choice.ts'
import { encodeTools } from './tools.ts'

/** The API's least; smaller limits are raised to it. */
const MIN_OUTPUT_TOKENS = 16

/** Writes a request for a Responses upstream. Nothing is stored there: each request holds the whole conversation. */
export function encodeRequest(asked: GenerationRequest, target: Target): EncodedRequest {
  refuseImpossible(asked)
  const losses = new Losses()
  const fitted = withoutRefusedThought(fitOutput(asked, target, losses), target, losses)
  // Others take a choice among several tools for none: llama.cpp and SGLang offer all and force nothing.
  const request = isOpenais(target) ? fitted : { ...fitted, ...onlyAllowed(fitted) }
  const model = openaiModel(target.model)
  loseUnsupported(request, UNSUPPORTED, losses)

  const extensions = nestExtensions(request.extensions[FORMAT], ['reasoning', 'text'])
  const { reasoning: ownReasoning, text: ownText, include, ...own } = extensions
  const reasoning = encodeReasoning(request, asObject(ownReasoning), model, losses)
  const { temperature, topP, logprobs } = takenSampling(request, model, reasoning?.['effort'], losses)
  const isThinking = reasoning !== undefined || model.reasons === true
  const said = present({
    model: target.model,
    ...encodePrompt(request, target, model, losses),
    ...encodeOffer(request, target, losses),
    reasoning,
    text: encodeText(request, asObject(ownText), model, losses),
    max_output_tokens: encodeLimit(request.maxOutputTokens, target, losses),
    temperature,
    top_p: topP,
    top_logprobs: logprobs?.top,
    metadata: request.metadata,
    ...userFields(request.user, own['user']),
    prompt_cache_key: fitKey(request.promptCacheKey, MAX_KEY),
    service_tier: encodeTier(request.serviceTier, losses),
    include: encodeInclude(include, isThinking, logprobs !== undefined),
    store: false,
    stream: request.stream,
  })
  return {
    body: { ...own, ...said },
    losses: losses.list,
    headers: {},
    emulate: { stop: request.stop, outputTool: undefined },
  }
}

/** What the caller relies on and this API cannot give in any way. */
function refuseImpossible(request: GenerationRequest): void {
  refuseSeveral(request)
  if (request.modalities.includes('audio')) {
    throw unsayable('modalities', 'asks for audio, which the upstream of this model cannot give')
  }
}

/** The rarer fields that this format does not have; the type names those that it has. A new field goes on one of the two. */
const UNSUPPORTED = keysOf({
  topK: true,
  seed: true,
  presencePenalty: true,
  frequencyPenalty: true,
  logitBias: true,
  modalities: true,
  store: true,
} satisfies Record<
  Exclude<RareField, 'verbosity' | 'logprobs' | 'user' | 'metadata' | 'promptCacheKey'>,
  true
>)

/** What the user says where nobody says anything. */
const NOTHING_SAID = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: '.' }] }]

/**
 * The API refuses an empty input, so a prompt that is only instructions stands there, and a dot for no prompt at all. Where
 * any JSON is asked for they do, too: it looks for the word in `input` alone. With models that take cache marks they always
 * do: from gpt-6.2 on the API puts what is in `instructions` behind the input, where no cache keeps it, and their own marks
 * have a place there. A blank line stands between them either way.
 * https://developers.openai.com/api/docs/guides/latest-model/gpt-6.2-astra
 */
function encodePrompt(
  { instructions, turns, output }: GenerationRequest,
  target: Target,
  { cacheBreakpoints, sealsThoughts }: OpenaiModel,
  losses: Losses,
): JsonObject {
  const takesWords = !sealsThoughts && !isOpenai(target.vendor)
  const options = { target, cacheBreakpoints, takesWords }
  const encode = (all: readonly Turn[]) => encodeHistory(all, options, losses)
  const input = cacheBreakpoints || output?.type === 'json' ? [] : encode(turns)
  if (input.length > 0) {
    if (instructions.some(part => part.cache !== undefined)) losses.add('cacheMark')
    const text = instructions.flatMap(part => (part.text === '' ? [] : part.text)).join('\n\n')
    return text === '' ? { input } : { instructions: text, input }
  }
  const said = instructions.filter(part => part.text !== '')
  const parts = said.map((part, place) => (place === 0 ? part : { ...part, text: `\n\n${part.text}` }))
  const whole = encode([{ role: 'system', parts }, ...turns])
  return { input: whole.length > 0 ? whole : NOTHING_SAID }
}

/** The tools and how they may be called. Without any, a choice says nothing. */
function encodeOffer(request: GenerationRequest, target: Target, losses: Losses): JsonObject {
  const tools = encodeTools(request.tools, target, losses)
  const choice = request.tools.length === 0 ? undefined : request.toolChoice
  // Callers of other formats choose among functions alone; unless they force one, the server's tools stay on offer.
  const hasForeign = request.tools.some(tool => tool.type === 'hosted' && tool.format !== FORMAT)
  const unchosen = hasForeign ? tools.filter(tool => tool['name'] === undefined) : []
  return {
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: encodeToolChoice(choice, tools, unchosen, losses),
    parallel_tool_calls: tools.length > 0 ? request.parallelToolCalls : undefined,
  }
}

/** The part of a request that decides how many tokens its prompt has. */
export function encodeCountRequest(request: GenerationRequest, target: Target): JsonObject {
  const { body } = encodeRequest(request, target)
  const counted: JsonObject = {}
  for (const key of COUNTED) if (body[key] !== undefined) counted[key] = body[key]
  return counted
}

const COUNTED = [
  'model',
  'instructions',
  'input',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'truncation',
] as const

function encodeReasoning(
  { reasoning, tools }: GenerationRequest,
  extended: JsonObject | undefined,
  model: OpenaiModel,
  losses: Losses,
): JsonObject | undefined {
  const wanted = reasoning && (wantedEffort(reasoning) ?? likedEffort(reasoning, model))
  // Gpt-5 refuses `minimal` beside tools of its server.
  const isServed = tools.some(tool => tool.type === 'hosted')
  const efforts = isServed ? model.efforts?.filter(effort => effort !== 'minimal') : model.efforts
  const effort = wanted && efforts ? nearestEffort(wanted, efforts) : wanted
  const summary = reasoning?.summary
  if (reasoning !== undefined && limitsEffort(reasoning)) {
    losses.add('reasoningBudget')
  }
  if (model.reasons === false) {
    if (effort !== undefined && effort !== 'none') losses.add('reasoning')
    return undefined
  }
  if (thinksAnyway(wanted, effort)) losses.add('reasoning')
  const wire = {
    ...extended,
    ...present({ effort, summary: summary === 'none' ? undefined : summary }),
  }
  return Object.keys(wire).length === 0 ? undefined : wire
}

function encodeText(
  { output, verbosity }: GenerationRequest,
  extended: JsonObject | undefined,
  model: OpenaiModel,
  losses: Losses,
): JsonObject | undefined {
  // Models that do not reason know no verbosity but the default.
  const refused = model.reasons === false && verbosity !== 'medium'
  if (refused) lose(losses, 'verbosity', verbosity)
  const text = {
    ...extended,
    ...present({ format: encodeFormat(output), verbosity: refused ? undefined : verbosity }),
  }
  return Object.keys(text).length === 0 ? undefined : text
}

function encodeFormat(output: OutputFormat | undefined): JsonObject | undefined {
  switch (output?.type) {
    case undefined:
      return undefined
    case 'text':
      return { type: 'text' }
    case 'json':
      return { type: 'json_object' }
    case 'json-schema':
      return present({
        type: 'json_schema',
        name: schemaName(output, 64, 'response'),
        description: output.description,
        schema: output.schema,
        strict: output.strict === true,
      })
    default:
      return output satisfies never
  }
}

/** The limit as the API takes it. */
export function encodeLimit(limit: number | undefined, target: Target, losses: Losses): number | undefined {
  return limit === undefined ? undefined : fitLimit(limit, MIN_OUTPUT_TOKENS, target.maxOutputTokens, losses)
}

/** The ordinary tier has a name of its own at each vendor. */
function encodeTier(tier: string | undefined, losses: Losses): string | undefined {
  if (tier === undefined || OPENAI_TIERS.has(tier)) return tier
  if (tier === 'standard_only' || tier === 'standard') return 'default'
  losses.add('serviceTier')
  return undefined
}

function encodeInclude(
  extended: JsonObject[string],
  thinks: boolean,
  logprobs: boolean,
): string[] | undefined {
  const include = [...(thinks ? [ENCRYPTED] : []), ...(logprobs ? [LOGPROBS] : []), ...asStrings(extended)]
  return include.length > 0 ? include : undefined
}

function lose(losses: Losses, field: RequestField, value: unknown, harmless?: unknown): void {
  if (value !== undefined && value !== harmless) losses.add(field)
}
