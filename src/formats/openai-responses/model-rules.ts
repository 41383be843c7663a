import type { Effort } from '@/generation/request.ts'

/** What a model refuses although the format can say it. Names without a rule are taken to accept everything. */
export interface ModelRules {
  /** False: refuses `reasoning` and its encrypted content. Undefined: not known. */
  reasons: boolean | undefined
  /** False: refuses temperature, top_p and log probabilities. */
  samples: boolean
  /** The efforts it takes; undefined is all. */
  efforts: readonly Effort[] | undefined
  /** Whether it takes `prompt_cache_breakpoint` (gpt-5.6 and later). */
  cacheBreakpoints: boolean
}

/**
 * OpenAI's models by name, most special first (platform.openai.com/docs/models). Chat variants of gpt-5 do not
 * reason and do sample.
 */
const FAMILIES: readonly (readonly [RegExp, ModelRules])[] = [
  [/^gpt-5[\d.]*-chat/, family(false, true, undefined, false)],
  [/^(gpt-3|gpt-4|chatgpt)/, family(false, true, undefined, false)],
  [/^o\d/, family(true, false, ['low', 'medium', 'high'], false)],
  [/^codex-mini/, family(true, false, ['low', 'medium', 'high'], false)],
  [/^gpt-5-pro/, family(true, false, ['high'], false)],
  [/^gpt-5(\.1)?-codex(?!-max)/, family(true, false, ['low', 'medium', 'high'], false)],
  [/^gpt-5(?!\.)/, family(true, false, ['minimal', 'low', 'medium', 'high'], false)],
  [/^gpt-5\.1(?!-codex-max)(?!\d)/, family(true, false, ['none', 'low', 'medium', 'high'], false)],
  [/^gpt-5\.[1-5](?!\d)/, family(true, false, ['none', 'low', 'medium', 'high', 'xhigh'], false)],
  [/^gpt-5\./, family(true, false, ['none', 'low', 'medium', 'high', 'xhigh'], true)],
  [/^gpt-[6-9]/, family(true, false, undefined, true)],
]

function family(
  reasons: boolean,
  samples: boolean,
  efforts: readonly Effort[] | undefined,
  cacheBreakpoints: boolean,
): ModelRules {
  return { reasons, samples, efforts, cacheBreakpoints }
}

const UNKNOWN: ModelRules = {
  reasons: undefined,
  samples: true,
  efforts: undefined,
  cacheBreakpoints: false,
}

/** The rules of a model by its upstream name; a vendor's prefix (`openai/gpt-5`) is looked through. */
export function modelRules(model: string): ModelRules {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  return FAMILIES.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN
}
