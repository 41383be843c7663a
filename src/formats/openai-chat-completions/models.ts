import { remembered } from '@/formats/remembered.ts'
import type { RequestField } from '@/generation/loss.ts'
import { EFFORTS, type Effort } from '@/generation/request.ts'

/** What a model, told by its name alone, wants to be asked differently. */
export interface ModelTraits {
  /** It takes `max_completion_tokens` and refuses `max_tokens`; system text comes from a `developer`. */
  isNewer: boolean
  refuses: ReadonlySet<RequestField>
  /** The efforts it knows, weakest first; undefined when nothing is known. */
  efforts: readonly Effort[] | undefined
  takesCacheBreakpoints: boolean
  /** It can call tools with free text. */
  takesCustomTools: boolean
  /** It searches the web, and has options for that. */
  isSearch: boolean
}

/** What OpenAI's kinds of models answer with a 400, also when it says what they do anyway. */
const REASONING_REFUSES: readonly RequestField[] = [
  ...(['temperature', 'topP', 'presencePenalty', 'frequencyPenalty'] as const),
  ...(['logprobs', 'logitBias', 'stop'] as const),
]
const O_SERIES_REFUSES: readonly RequestField[] = ['verbosity', 'parallelToolCalls']
const CHATS_REFUSE: readonly RequestField[] = ['reasoning', 'verbosity']
const SEARCH_REFUSES: readonly RequestField[] = [
  ...(['temperature', 'topP', 'presencePenalty', 'frequencyPenalty', 'seed', 'candidates'] as const),
]

/** The traits of a model. A vendor prefix (`openai/gpt-5`) is passed over. */
export const modelTraits = remembered(traitsOf)

function traitsOf(model: string): ModelTraits {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  const [, major, minor = '0'] = /^gpt-(\d+)(?:\.(\d+))?/.exec(name) ?? []
  const version = major === undefined ? undefined : Number(major) * 100 + Number(minor)
  const isOSeries = /^o\d/.test(name)
  const isOlder = version !== undefined && version < 500
  const isNewer = isOSeries || (version !== undefined && !isOlder)
  // The chat variants of the newer models do not reason.
  const isReasoning = isNewer && !name.includes('-chat')
  return {
    isNewer,
    refuses: new Set([
      ...(isReasoning ? REASONING_REFUSES : []),
      ...(isOSeries ? O_SERIES_REFUSES : []),
      ...(isOlder || (isNewer && !isReasoning) ? CHATS_REFUSE : []),
      ...(isOlder && name.includes('-search') ? SEARCH_REFUSES : []),
    ]),
    efforts: isReasoning ? effortsOf(name, version) : name.startsWith('gpt-oss') ? OPEN_EFFORTS : undefined,
    takesCustomTools: isReasoning && version !== undefined,
    takesCacheBreakpoints: version !== undefined && version >= 506,
    isSearch: /search|sonar/.test(name),
  }
}

/** What OpenAI's open models know, whoever serves them. */
const OPEN_EFFORTS: readonly Effort[] = ['low', 'medium', 'high']

/**
 * OpenAI added a level with nearly every version, and from 6.1 on (and in Astra) takes the two least away; the o-series knows
 * three, the pro models up to 5.5 no less than what the model is for.
 */
function effortsOf(name: string, version: number | undefined): readonly Effort[] {
  if (version === undefined) return OPEN_EFFORTS
  if (version < 506 && name.includes('-pro')) return version === 500 ? ['high'] : ['medium', 'high', 'xhigh']
  if (version === 500) return ['minimal', 'low', 'medium', 'high']
  if (version === 501) return ['none', 'low', 'medium', 'high']
  if (version < 506) return ['none', 'low', 'medium', 'high', 'xhigh']
  if (version < 600) return ['none', 'low', 'medium', 'high', 'xhigh', 'max']
  return version > 600 || name.startsWith('gpt-6-astra') ? ['low', 'medium', 'high', 'xhigh', 'max'] : EFFORTS
}
