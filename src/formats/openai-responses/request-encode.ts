import type { EncodedRequest, Target } from '@/formats/codec.ts'
import { nearestEffort, wantedEffort } from '@/formats/effort.ts'
import { unsayable } from '@/formats/invalid.ts'
import { Losses } from '@/formats/losses.ts'
import { fitKey } from '@/formats/openai/shared-fields.ts'
import { schemaName } from '@/formats/output-format.ts'
import { fitLimit } from '@/formats/output-limit.ts'
import type { RequestField } from '@/generation/loss.ts'
import { type GenerationRequest, limitsEffort, type OutputFormat } from '@/generation/request.ts'
import { asObject, asStrings, type JsonObject, present } from '@/json/json.ts'
import { encodeHistory } from './history.ts'
import { type ModelTraits, modelTraits } from './models.ts'
import { encodeToolChoice } from './tool-choice.ts'
import { encodeTools } from './tools.ts'
import { FORMAT } from './wire.ts'

/** The API's least; smaller limits are raised to it. */
const MIN_OUTPUT_TOKENS = 16

/** Writes a request for a Responses upstream. Nothing is stored there: each request holds the whole conversation. */
export function encodeRequest(request: GenerationRequest, target: Target): EncodedRequest {
  const losses = new Losses()
  const traits = modelTraits(target.model)
  const {
    model: _model,
    stream,
    instructions,
    turns: _turns,
    tools,
    toolChoice,
    parallelToolCalls,
    output,
    verbosity,
    reasoning,
    maxOutputTokens,
    temperature,
    topP,
    topK,
    stop,
    seed,
    presencePenalty,
    frequencyPenalty,
    logitBias,
    logprobs,
    candidates,
    modalities,
    user,
    metadata,
    promptCacheKey,
    serviceTier,
    store,
    extensions,
    unsaid: _unsaid,
    ...rest
  } = request
  rest satisfies Record<string, never>
  if (candidates !== undefined && candidates > 1) {
    throw unsayable('candidates', 'must be 1: this model gives one answer a request')
  }
  if (modalities.includes('audio')) {
    throw unsayable('modalities', 'asks for audio, which the upstream of this model cannot give')
  }
  lose(losses, 'topK', topK)
  lose(losses, 'seed', seed)
  lose(losses, 'presencePenalty', presencePenalty, 0)
  lose(losses, 'frequencyPenalty', frequencyPenalty, 0)
  lose(losses, 'logitBias', logitBias)
  lose(
    losses,
    'modalities',
    modalities.find(kind => kind === 'image'),
  )
  lose(losses, 'store', store, false)

  const {
    reasoning: reasoningExtras,
    text: textExtras,
    include: includeExtras,
    ...extended
  } = ownExtensions(extensions)
  const sampling = encodeSampling({ temperature, topP, logprobs }, traits, losses)
  const thinking = encodeReasoning(reasoning, asObject(reasoningExtras), traits, losses)
  const wireTools = encodeTools(tools, losses)
  // A choice without any tools says nothing.
  const choice = encodeToolChoice(tools.length === 0 ? undefined : toolChoice, wireTools, losses)
  const format = encodeText(output, verbosity, asObject(textExtras), traits, losses)
  if (instructions.some(part => part.cache !== undefined)) losses.add('cacheMark')
  const system = instructions.flatMap(part => (part.text === '' ? [] : part.text)).join('\n\n')
  const history = encodeHistory(request, { target, cacheBreakpoints: traits.cacheBreakpoints }, losses)
  const include = includes(
    includeExtras,
    thinking !== undefined || traits.reasons === true,
    sampling.logprobs,
  )

  const hasTools = wireTools.length > 0
  const said = present({
    model: target.model,
    ...encodePrompt(system, history),
    tools: hasTools ? wireTools : undefined,
    tool_choice: choice,
    parallel_tool_calls: hasTools ? parallelToolCalls : undefined,
    reasoning: thinking,
    text: format,
    max_output_tokens: encodeLimit(maxOutputTokens, target, losses),
    ...sampling.fields,
    metadata,
    user: fitKey(user),
    prompt_cache_key: fitKey(promptCacheKey),
    service_tier: encodeTier(serviceTier, losses),
    include: include.length > 0 ? include : undefined,
    store: false,
    stream,
  })
  return {
    body: { ...extended, ...said },
    losses: losses.list,
    headers: {},
    emulate: { stop, outputTool: undefined },
  }
}

/** What the user says where nobody says anything. */
const NO_WORDS = '.'

/** The API refuses an empty input, so a prompt that is only instructions stands there, and a dot for no prompt at all. */
function encodePrompt(system: string, history: JsonObject[]): JsonObject {
  if (history.length > 0) return system === '' ? { input: history } : { instructions: system, input: history }
  const [role, text] = system === '' ? ['user', NO_WORDS] : ['system', system]
  return { input: [{ type: 'message', role, content: [{ type: 'input_text', text }] }] }
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

/** This format's own fields, those of `reasoning` and `text` back in their objects; the others' are losses. */
function ownExtensions({ [FORMAT]: own = {} }: GenerationRequest['extensions']): JsonObject {
  const inner = (outer: string) =>
    Object.entries(own).flatMap(([key, value]) =>
      key.startsWith(`${outer}.`) ? [[key.slice(outer.length + 1), value] as const] : [],
    )
  const nested = ['reasoning', 'text'].flatMap(outer => {
    const fields = inner(outer)
    return fields.length === 0 ? [] : [[outer, Object.fromEntries(fields)] as const]
  })
  const plain = Object.entries(own).filter(([key]) => !/^(reasoning|text)\./.test(key))
  return Object.fromEntries([...plain, ...nested])
}

function encodeReasoning(
  reasoning: GenerationRequest['reasoning'],
  extended: JsonObject | undefined,
  traits: ModelTraits,
  losses: Losses,
): JsonObject | undefined {
  const wanted = reasoning && wantedEffort(reasoning)
  const effort = wanted && traits.efforts ? nearestEffort(wanted, traits.efforts) : wanted
  const summary = reasoning?.summary
  if (reasoning !== undefined && limitsEffort(reasoning)) {
    losses.add('reasoningBudget')
  }
  if (traits.reasons === false) {
    if (effort !== undefined && effort !== 'none') losses.add('reasoning')
    return undefined
  }
  const wire = {
    ...extended,
    ...present({ effort, summary: summary === 'none' ? undefined : summary }),
  }
  return Object.keys(wire).length === 0 ? undefined : wire
}

/** Sampling, without what a reasoning model refuses; its own defaults said aloud are no loss. */
function encodeSampling(
  asked: Pick<GenerationRequest, 'temperature' | 'topP' | 'logprobs'>,
  traits: ModelTraits,
  losses: Losses,
): { fields: JsonObject; logprobs: boolean } {
  const { temperature, topP, logprobs } = asked
  if (!traits.samples) {
    lose(losses, 'temperature', temperature, 1)
    lose(losses, 'topP', topP, 1)
    lose(losses, 'logprobs', logprobs)
    return { fields: {}, logprobs: false }
  }
  return {
    fields: present({ temperature, top_p: topP, top_logprobs: logprobs?.top }),
    logprobs: logprobs !== undefined,
  }
}

function encodeText(
  output: OutputFormat | undefined,
  verbosity: GenerationRequest['verbosity'],
  extended: JsonObject | undefined,
  traits: ModelTraits,
  losses: Losses,
): JsonObject | undefined {
  // Models that do not reason know no verbosity but the default.
  const refused = traits.reasons === false && verbosity !== 'medium'
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
        strict: output.strict ?? false,
      })
    default:
      return output satisfies never
  }
}

/** The limit as the API takes it. */
export function encodeLimit(limit: number | undefined, target: Target, losses: Losses): number | undefined {
  return limit === undefined ? undefined : fitLimit(limit, MIN_OUTPUT_TOKENS, target.maxOutputTokens, losses)
}

const TIERS: ReadonlySet<string> = new Set([
  'auto',
  'default',
  'flex',
  'scale',
  'priority',
  'fast',
  'ultrafast',
])

/** The ordinary tier has a name of its own at each vendor. */
function encodeTier(tier: string | undefined, losses: Losses): string | undefined {
  if (tier === undefined || TIERS.has(tier)) return tier
  if (tier === 'standard_only' || tier === 'standard') return 'default'
  losses.add('serviceTier')
  return undefined
}

function includes(
  extended: JsonObject[string],
  reasons: boolean,
  logprobs: boolean,
): JsonObject[string][] & string[] {
  return [
    ...(reasons ? ['reasoning.encrypted_content'] : []),
    ...(logprobs ? ['message.output_text.logprobs'] : []),
    ...asStrings(extended),
  ]
}

function lose(losses: Losses, field: RequestField, value: unknown, harmless?: unknown): void {
  if (value !== undefined && value !== harmless) losses.add(field)
}
