import { type EncodedRequest, NO_EMULATION, type Target } from '@/formats/codec.ts'
import { nestExtensions } from '@/formats/extensions.ts'
import {
  isGeminiApi,
  type ModelTraits,
  maxCandidates,
  modelTraits,
  refusedFields,
  unstored,
} from '@/formats/gemini-generate-content/models.ts'
import { FORMAT } from '@/formats/gemini-generate-content/wire.ts'
import { Losses, loseUnsupported, type RareField } from '@/formats/losses.ts'
import { jsonInWords } from '@/formats/schemas/output-format.ts'
import type { GenerationRequest, OutputFormat } from '@/generation/request.ts'
import { asObject, isKeyOf, type JsonObject, keysOf, present } from '@/json/json.ts'
import { encodeConfig } from './config-encode.ts'
import { encodeContents } from './contents-encode.ts'
import { encodeTools } from './tools-encode.ts'

/** Writes a request for a Gemini upstream; the model and the wish to stream stand in its path (Codec.encodeRequest). */
export function encodeRequest(request: GenerationRequest, target: Target): EncodedRequest {
  const traits = modelTraits(target.model)
  const losses = new Losses()
  const refused = refusedFields(target)
  loseUnsupported(request, [...UNSUPPORTED, ...refused], losses)
  if (request.parallelToolCalls === false && request.tools.length > 0) losses.add('parallelToolCalls')

  const { tools, toolConfig } = encodeTools(request.tools, request.toolChoice, target, losses)
  const asked = askFor(request.output, tools, traits, losses)
  const limits = { traits, maxOutputTokens: target.maxOutputTokens, maxCandidates: maxCandidates(target) }
  const taken = { ...request, ...Object.fromEntries(refused.map(field => [field, undefined])) }
  const config = encodeConfig(taken, asked.output, limits, losses)
  const body: JsonObject = present({
    systemInstruction: encodeSystem(request.instructions, asked.instruction, losses),
    contents: encodeContents(request.turns, { traits, vendor: target.vendor, losses }),
    tools: tools.length === 0 ? undefined : tools,
    toolConfig,
    generationConfig: Object.keys(config).length === 0 ? undefined : config,
    serviceTier: encodeServiceTier(request.serviceTier, losses),
    store: encodeStore(request.store, target, losses),
  })
  return {
    body: withExtensions(body, request.extensions),
    losses: losses.list,
    headers: {},
    emulate: NO_EMULATION,
  }
}

/** The rarer fields that this format does not have; the type names those that it has. A new field goes on one of the two. */
const UNSUPPORTED = keysOf({
  verbosity: true,
  logitBias: true,
  user: true,
  metadata: true,
  promptCacheKey: true,
} satisfies Record<
  Exclude<
    RareField,
    'topK' | 'seed' | 'presencePenalty' | 'frequencyPenalty' | 'logprobs' | 'modalities' | 'store'
  >,
  true
>)

/** The Gemini API keeps a request only where the caller asks for that; it cannot be asked of other upstreams. */
function encodeStore(store: boolean | undefined, target: Target, losses: Losses): boolean | undefined {
  if (store !== true) return unstored(target).store
  if (isGeminiApi(target)) return true
  losses.add('store')
  return undefined
}

/** The instructions as one text, and behind them what is asked for in words. */
function encodeSystem(
  instructions: GenerationRequest['instructions'],
  asked: string,
  losses: Losses,
): JsonObject | undefined {
  if (instructions.some(part => part.cache !== undefined)) losses.add('cacheMark')
  const system = [...instructions.map(part => part.text), asked].filter(text => text !== '')
  return system.length === 0 ? undefined : { parts: [{ text: system.join('\n\n') }] }
}

/**
 * The output format to ask for, or the words that ask for it: models before Gemini 3 refuse a JSON answer beside
 * function declarations.
 */
function askFor(
  output: OutputFormat | undefined,
  tools: readonly JsonObject[],
  traits: ModelTraits,
  losses: Losses,
): { output: OutputFormat | undefined; instruction: string } {
  const structured = output !== undefined && output.type !== 'text'
  const declares = tools.some(tool => tool['functionDeclarations'] !== undefined)
  if (!structured || !declares || traits.jsonBesideTools) return { output, instruction: '' }
  losses.add('output')
  const schema =
    output.type === 'json-schema' ? ` that fits this JSON Schema: ${JSON.stringify(output.schema)}` : ''
  const instruction = `When you answer in text, answer with one ${jsonInWords(output)}${schema}`
  return { output: undefined, instruction }
}

const SERVICE_TIERS = {
  default: 'standard',
  standard: 'standard',
  standard_only: 'standard',
  flex: 'flex',
  priority: 'priority',
} as const

function encodeServiceTier(tier: string | undefined, losses: Losses): string | undefined {
  if (tier === undefined || tier === 'auto' || tier === 'unspecified') return undefined
  if (isKeyOf(SERVICE_TIERS, tier)) return SERVICE_TIERS[tier]
  losses.add('serviceTier')
  return undefined
}

/** Objects of the body whose own unknown fields are kept under a dotted name (request-decode.ts). */
const NESTED_EXTENSIONS = ['generationConfig', 'toolConfig'] as const

/** Adds what only this format has words for. */
function withExtensions(body: JsonObject, extensions: GenerationRequest['extensions']): JsonObject {
  const own = nestExtensions(extensions[FORMAT], NESTED_EXTENSIONS)
  for (const parent of NESTED_EXTENSIONS) {
    if (own[parent] !== undefined) own[parent] = { ...asObject(body[parent]), ...asObject(own[parent]) }
  }
  return { ...body, ...own }
}
