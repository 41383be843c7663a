import { remembered } from '@/formats/remembered.ts'
import type { Effort } from '@/generation/request.ts'

/** What a model refuses although the format can say it. Names that are not known are taken to accept everything. */
export interface ModelTraits {
  /** False: refuses `reasoning` and its encrypted content. Undefined: not known. */
  reasons: boolean | undefined
  /** False: refuses temperature, top_p and log probabilities. */
  samples: boolean
  /** The efforts it takes; undefined is all. */
  efforts: readonly Effort[] | undefined
  /** Whether it takes `prompt_cache_breakpoint` (gpt-5.6 and later). */
  cacheBreakpoints: boolean
}

const CHATS: ModelTraits = { reasons: false, samples: true, efforts: undefined, cacheBreakpoints: false }
const REASONS: ModelTraits = { reasons: true, samples: false, efforts: undefined, cacheBreakpoints: false }

const THREE: readonly Effort[] = ['low', 'medium', 'high']

/**
 * OpenAI's models by name, most special first (platform.openai.com/docs/models). Chat variants do not reason
 * and do sample; what is newer than this list is taken for like its last.
 */
const FAMILIES: readonly (readonly [RegExp, ModelTraits])[] = [
  [/^gpt-[\d.]+-chat/, CHATS],
  [/^(gpt-[34](?!\d)|chatgpt)/, CHATS],
  [/^o\d/, { ...REASONS, efforts: THREE }],
  [/^codex-mini/, { ...REASONS, efforts: THREE }],
  [/^gpt-5-pro/, { ...REASONS, efforts: ['high'] }],
  [/^gpt-5\.[2-5]-pro/, { ...REASONS, efforts: ['medium', 'high', 'xhigh'] }],
  [/^gpt-5(\.1)?-codex(?!-max)/, { ...REASONS, efforts: THREE }],
  [/^gpt-5(?!\.)/, { ...REASONS, efforts: ['minimal', ...THREE] }],
  [/^gpt-5\.1(?!-codex-max)(?!\d)/, { ...REASONS, efforts: ['none', ...THREE] }],
  [/^gpt-5\.[1-5](?!\d)/, { ...REASONS, efforts: ['none', ...THREE, 'xhigh'] }],
  [/^gpt-5\./, { ...REASONS, efforts: ['none', ...THREE, 'xhigh', 'max'], cacheBreakpoints: true }],
  [/^gpt-6(?![\d.]|-astra)/, { ...REASONS, cacheBreakpoints: true }],
  [/^gpt-([6-9]|\d\d)/, { ...REASONS, efforts: [...THREE, 'xhigh', 'max'], cacheBreakpoints: true }],
]

const UNKNOWN: ModelTraits = {
  reasons: undefined,
  samples: true,
  efforts: undefined,
  cacheBreakpoints: false,
}

/** The traits of a model by its upstream name; a vendor's prefix (`openai/gpt-5`) is looked through. */
export const modelTraits = remembered(traitsOf)

function traitsOf(model: string): ModelTraits {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  return FAMILIES.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN
}
