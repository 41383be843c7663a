import { bareModelName, type OpenaiModel, openaiModel } from '@/formats/openai/models.ts'
import { remembered } from '@/formats/remembered.ts'
import type { RequestField } from '@/generation/loss.ts'

/** What a model, told by its name alone, wants to be asked differently. */
export interface ModelTraits extends Omit<OpenaiModel, 'sealsThoughts'> {
  /** OpenAI's own, and not one of its open ones, by its name wherever it is served. */
  isOpenais: boolean
  /** It takes `max_completion_tokens` and refuses `max_tokens`; system text comes from a `developer`. */
  isNewer: boolean
  refuses: ReadonlySet<RequestField>
  /** It can call tools with free text. */
  takesCustomTools: boolean
  /** It searches the web, and has options for that. */
  isSearch: boolean
  /**
   * Its chat template takes system text in the first message alone: Qwen's from 3.5 on. MiniMax's passes over any other, and
   * DeepSeek's puts it in front of all, where it makes the cache of the conversation behind useless.
   */
  systemFirst: boolean
}

/** What OpenAI's kinds of models answer with a 400, also when it says what they do anyway. */
const REASONING_REFUSES: readonly RequestField[] = [
  ...(['presencePenalty', 'frequencyPenalty', 'logitBias', 'stop'] as const),
]
const O_SERIES_REFUSES: readonly RequestField[] = ['verbosity', 'parallelToolCalls']
const CHATS_REFUSE: readonly RequestField[] = ['reasoning', 'verbosity']
const SEARCH_REFUSES: readonly RequestField[] = [
  ...(['temperature', 'topP', 'presencePenalty', 'frequencyPenalty', 'seed', 'candidates'] as const),
]

/** The traits of a model. */
export const modelTraits = remembered(traitsOf)

function traitsOf(model: string): ModelTraits {
  const name = bareModelName(model)
  const { sealsThoughts: _, ...known } = openaiModel(model)
  const { reasons, reasonsUntold, efforts } = known
  return {
    ...known,
    isOpenais: reasons !== undefined,
    isNewer: reasons === true || /^gpt-(?:[5-9]|(?!35|4[15])\d\d)/.test(name),
    refuses: new Set([
      ...(reasons === true || reasonsUntold ? REASONING_REFUSES : []),
      ...(/^o\d/.test(name) ? O_SERIES_REFUSES : []),
      ...(reasons === false ? CHATS_REFUSE : []),
      ...(reasons === false && name.includes('-search') ? SEARCH_REFUSES : []),
    ]),
    // Only Responses takes OpenAI's strongest.
    efforts: efforts?.filter(effort => effort !== 'max'),
    takesCustomTools: reasons === true && name.startsWith('gpt-'),
    isSearch: /search|sonar/.test(name),
    // https://github.com/vllm-project/vllm/issues/41114, https://github.com/farion1231/cc-switch/issues/7252
    systemFirst: /^(?:qwen-?(?:3[._p][5-9]|[4-9])|minimax|deepseek)/.test(name),
  }
}
