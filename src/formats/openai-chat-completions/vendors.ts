import { DEEPSEEK } from '@/formats/deepseek.ts'
import { isOpenai, vendorHost } from '@/formats/openai/vendor.ts'
import { remembered } from '@/formats/remembered.ts'
import { fitCallId } from '@/formats/tools/call-ids.ts'
import type { RequestField } from '@/generation/loss.ts'
import type { ReasoningField } from '@/generation/reasoning-field.ts'
import type { Effort } from '@/generation/request.ts'
import { GROQ, MISTRAL, MOONSHOT, ZAI } from './vendor-hosts.ts'

/** What a vendor of this format, told by `Target.vendor`, does in its own way. */
export interface VendorTraits {
  /** OpenAI itself, or Azure: the only ones that keep what they thought to themselves. */
  isOpenai: boolean
  /** OpenRouter's additions: cache_control on parts, images of the assistant, file addresses. */
  isOpenrouter: boolean
  /** Mistral's own words: documents by address or data URI in `document_url`, sound as nothing but its base64, another seed. */
  isMistral: boolean
  /**
   * Perplexity, which has documents by address or as nothing but their base64 in `file_url`, and takes no two messages of
   * one side in a row.
   */
  isPerplexity: boolean
  /** Moonshot, which checks the schemas of tools in a way of its own. */
  isMoonshot: boolean
  /** What of the assistant's history must come with reasoning_content, if only an empty one: calls, or all that it says. */
  needsReasoning: 'calls' | 'all' | undefined
  /** It refuses fields of messages that it does not know. */
  isStrict: boolean
  /** The field of a message in which it takes thoughts back; undefined: it refuses them. */
  reasoningField: ReasoningField | undefined
  /** The efforts that all of its models know at most, weakest first; undefined when nothing is known. */
  efforts: readonly Effort[] | undefined
  /** Fields that it answers with a 400. */
  refuses: ReadonlySet<RequestField>
  /** A tool's result has to name its tool: https://github.com/NousResearch/hermes-agent/pull/16482 */
  namesResults: boolean
  /** It knows `stream_options`; the others send usage unasked. */
  takesStreamOptions: boolean
  /** It knows no other name of the limit than `max_tokens`. */
  knowsMaxTokensAlone: boolean
  /** It is known to refuse ids of tool calls that are not like its own. */
  checksCallIds: boolean
  /** A tool call's id as the vendor takes it. */
  fitCallId: (id: string) => string
  /** The lowest and the highest temperature that it takes; undefined: any that the format has. */
  temperatures: readonly [number, number] | undefined
  /** Whether a conversation may end in the assistant's words, from which the answer goes on. */
  prefill: boolean
}

/** A vendor that refuses what it does not know instead of passing over it. What is left out is as with the others. */
interface StrictVendor
  extends Pick<VendorTraits, 'reasoningField'>,
    Partial<
      Pick<
        VendorTraits,
        'efforts' | 'namesResults' | 'takesStreamOptions' | 'checksCallIds' | 'fitCallId' | 'prefill'
      >
    > {
  host: RegExp
  refuses: readonly RequestField[]
}

/** Fields of OpenAI's own that hardly another vendor has. */
const OPENAI_ONLY: readonly RequestField[] = ['metadata', 'store', 'promptCacheKey', 'verbosity']

const STRICT: readonly StrictVendor[] = [
  {
    host: GROQ,
    refuses: [...OPENAI_ONLY, 'logprobs', 'logitBias', 'topK'],
    reasoningField: 'reasoning',
  },
  {
    // https://docs.mistral.ai/api/endpoint/chat, and https://docs.mistral.ai/inference/conversations/advanced/prompt-caching
    host: MISTRAL,
    refuses: ['store', 'verbosity', 'logprobs', 'logitBias', 'topK', 'user', 'serviceTier'],
    reasoningField: undefined,
    takesStreamOptions: false,
    checksCallIds: true,
    fitCallId: nineCharacters,
    prefill: false,
  },
  {
    // https://github.com/Cerebras/cerebras-cloud-sdk-node/blob/main/src/resources/chat/completions.ts
    host: /(?:^|\.)cerebras\.ai$/,
    refuses: ['metadata', 'store', 'verbosity', 'topK'],
    reasoningField: 'reasoning',
    efforts: ['none', 'low', 'medium', 'high'],
  },
  {
    // https://docs.cohere.com/docs/compatibility-api
    host: /(?:^|\.)cohere\.(?:ai|com)$/,
    refuses: [
      ...OPENAI_ONLY,
      ...(['logprobs', 'logitBias', 'topK', 'candidates', 'serviceTier', 'parallelToolCalls'] as const),
    ],
    reasoningField: undefined,
    efforts: ['none', 'high'],
    takesStreamOptions: false,
  },
  {
    // https://github.com/fw-ai-external/python-sdk/blob/main/src/fireworks/types/chat/completion_create_params.py
    host: /(?:^|\.)fireworks\.ai$/,
    refuses: ['store', 'verbosity'],
    reasoningField: 'reasoning_content',
    efforts: ['none', 'low', 'medium', 'high'],
  },
  {
    // An unknown name is a 400 here: https://github.com/liliMozi/openhanako/issues/2494 https://github.com/looplj/axonhub/issues/1123
    // https://github.com/Vali-98/ChatterUI/issues/227. The penalties and log probabilities are refused by its models.
    host: /^generativelanguage\.googleapis\.com$/,
    refuses: [
      ...OPENAI_ONLY,
      ...(['logprobs', 'logitBias', 'topK', 'seed', 'user', 'serviceTier'] as const),
      ...(['presencePenalty', 'frequencyPenalty'] as const),
    ],
    reasoningField: undefined,
    // https://ai.google.dev/gemini-api/docs/openai: none is for models that are no longer served.
    efforts: ['minimal', 'low', 'medium', 'high'],
    namesResults: true,
  },
]

/** DeepSeek wants it of all that was said since the user spoke, and passes over the rest: https://github.com/experientiallabs/experiential/pull/890 */
const REASONING_NEEDED: readonly (readonly [RegExp, VendorTraits['needsReasoning']])[] = [
  [DEEPSEEK, 'all'],
  [MOONSHOT, 'calls'],
]

const TEMPERATURES: readonly (readonly [RegExp, readonly [number, number]])[] = [
  // https://docs.mistral.ai/api/endpoint/chat
  [MISTRAL, [0, 1.5]],
  // https://platform.minimax.io/docs/api-reference/text-openai-api: above 0
  [/(?:^|\.)minimaxi?\.(?:io|com|chat)$/, [0.01, 1]],
  // https://docs.z.ai/api-reference/llm/chat-completion
  [ZAI, [0, 1]],
]

/** Its own host; those of others who run it tell nothing. */
const OLLAMA = /(?:^|\.)ollama\.com$/

/**
 * Who passes over `max_completion_tokens`, so that the answer has no limit, or refuses it (Mistral):
 * https://github.com/earendil-works/pi/issues/8018 https://github.com/ollama/ollama/issues/7125
 * https://github.com/editor-code-assistant/eca/issues/231
 */
const MAX_TOKENS_ALONE: readonly RegExp[] = [DEEPSEEK, MISTRAL, OLLAMA]

const PERPLEXITY = /(?:^|\.)perplexity\.ai$/

/** The traits of a vendor: a short name, or a host with or without its port. */
export const vendorTraits = remembered(traitsOf)

function traitsOf(vendor: string): VendorTraits {
  const host = vendorHost(vendor)
  const isOpenaiItself = isOpenai(vendor)
  const strict = STRICT.find(vendor => vendor.host.test(host))
  return {
    isOpenai: isOpenaiItself,
    isOpenrouter: /(?:^|\.)openrouter(?:\.ai)?$/.test(host),
    isMistral: MISTRAL.test(host),
    isPerplexity: PERPLEXITY.test(host),
    isMoonshot: MOONSHOT.test(host),
    needsReasoning: REASONING_NEEDED.find(([pattern]) => pattern.test(host))?.[1],
    isStrict: strict !== undefined,
    reasoningField: strict === undefined ? fieldOf(host) : strict.reasoningField,
    efforts: strict?.efforts,
    namesResults: strict?.namesResults ?? false,
    refuses: new Set(isOpenaiItself ? ['topK'] : (strict?.refuses ?? [])),
    takesStreamOptions: strict?.takesStreamOptions ?? true,
    knowsMaxTokensAlone: MAX_TOKENS_ALONE.some(pattern => pattern.test(host)),
    checksCallIds: strict?.checksCallIds ?? isOpenaiItself,
    fitCallId: strict?.fitCallId ?? fortyCharacters,
    temperatures: TEMPERATURES.find(([pattern]) => pattern.test(host))?.[1],
    prefill: strict?.prefill ?? !PERPLEXITY.test(host),
  }
}

/** Ollama reads one of the two and passes over the other: https://github.com/ollama/ollama/blob/main/openai/openai.go */
function fieldOf(host: string): ReasoningField {
  return OLLAMA.test(host) ? 'reasoning' : 'reasoning_content'
}

/** OpenAI's limit; within it the ids of all formats are taken as they are. */
function fortyCharacters(id: string): string {
  return fitCallId(id, { pattern: /^[\x21-\x7e]+$/, maxLength: 40 })
}

/** Mistral takes ids of nine letters and digits, no more and no less. */
function nineCharacters(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id
  return new Bun.CryptoHasher('sha256').update(id).digest('hex').slice(0, 9)
}
