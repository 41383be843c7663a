import type { Target } from '@/formats/codec.ts'
import { remembered } from '@/formats/remembered.ts'
import type { Effort, Reasoning } from '@/generation/request.ts'
import type { JsonValue } from '@/json/json.ts'
import { isServedByOpenai } from './vendor.ts'

/** What OpenAI's models take and refuse, and those of others that speak both of its formats, whichever they are asked in. */
export interface OpenaiModel {
  /** Whether it can be told how hard to reason; undefined: not known. */
  reasons: boolean | undefined
  /** It does so only if an effort is said: without one it has the effort `none`. */
  reasonsIfAsked: boolean
  /** It takes no effort at all, and does so as hard as it likes. */
  reasonsUntold: boolean
  /** The efforts that it takes, weakest first; undefined: all of them, or not known. */
  efforts: readonly Effort[] | undefined
  /** Whether it takes `prompt_cache_breakpoint` (gpt-5.6 and later). */
  cacheBreakpoints: boolean
  /** Whether its thoughts come sealed, if at all, and none are taken back in words. */
  sealsThoughts: boolean
}

const UNKNOWN: OpenaiModel = {
  reasons: undefined,
  reasonsIfAsked: false,
  reasonsUntold: false,
  efforts: undefined,
  cacheBreakpoints: false,
  sealsThoughts: false,
}
const CHATS: OpenaiModel = { ...UNKNOWN, reasons: false, sealsThoughts: true }
/** Those from gpt-5.1 on: https://github.com/pydantic/pydantic-ai/blob/main/pydantic_ai_slim/pydantic_ai/profiles/openai.py */
const CHATS_NOW: OpenaiModel = { ...CHATS, reasonsUntold: true }
const REASONS: OpenaiModel = { ...CHATS, reasons: true }
/** https://github.com/BerriAI/litellm-docs/pull/1064 */
const REASONS_IF_ASKED: OpenaiModel = { ...REASONS, reasonsIfAsked: true }
const SEALS: OpenaiModel = { ...UNKNOWN, sealsThoughts: true }

const THREE: readonly Effort[] = ['low', 'medium', 'high']

/**
 * By name, most special first (platform.openai.com/docs/models). What is newer than this list is taken for like its
 * last.
 */
const FAMILIES: readonly (readonly [RegExp, OpenaiModel])[] = [
  // The open ones, whoever serves them.
  [/^gpt-oss/, { ...UNKNOWN, efforts: THREE }],
  [/^gpt-5\.\d+-chat/, CHATS_NOW],
  [/^gpt-[\d.]+-chat/, CHATS],
  // Names of Azure's deployments may lack their point: gpt-35 is gpt-3.5.
  [/^(gpt-[34](?!\d)|gpt-(35|4[15])(?!\d)|chatgpt)/, CHATS],
  [/^o\d/, { ...REASONS, efforts: THREE }],
  [/^codex-mini/, { ...REASONS, efforts: THREE }],
  [/^gpt-5-pro/, { ...REASONS, efforts: ['high'] }],
  [/^gpt-5\.[1-5]-pro/, { ...REASONS, efforts: ['medium', 'high', 'xhigh'] }],
  [/^gpt-5(\.1)?-codex(?!-max)/, { ...REASONS, efforts: THREE }],
  [/^gpt-5(?!\.)/, { ...REASONS, efforts: ['minimal', ...THREE] }],
  [/^gpt-5\.(1-codex-max|[2-5]-codex)/, { ...REASONS, efforts: [...THREE, 'xhigh'] }],
  [/^gpt-5\.1(?!\d)/, { ...REASONS_IF_ASKED, efforts: ['none', ...THREE] }],
  [/^gpt-5\.[2-4](?!\d)/, { ...REASONS_IF_ASKED, efforts: ['none', ...THREE, 'xhigh'] }],
  [/^gpt-5\.5(?!\d)/, { ...REASONS, efforts: ['none', ...THREE, 'xhigh'] }],
  [
    /^gpt-(5\.|6\.1-terra|6(?![\d.]|-astra))/,
    { ...REASONS, efforts: ['none', ...THREE, 'xhigh', 'max'], cacheBreakpoints: true },
  ],
  [/^gpt-([6-9]|\d\d)/, { ...REASONS, efforts: [...THREE, 'xhigh', 'max'], cacheBreakpoints: true }],
  // xAI's, which are asked in both formats: https://docs.x.ai/developers/model-capabilities/text/reasoning
  [/^grok-4\.3/, { ...SEALS, efforts: ['none', ...THREE] }],
  [/^grok-4\.5/, { ...SEALS, efforts: THREE }],
  [/^grok-(4\.[6-9]|[5-9])/, { ...SEALS, efforts: [...THREE, 'xhigh'] }],
  [/^grok/, SEALS],
  // Meta's: https://github.com/decolua/9router/pull/3124 https://github.com/agentscope-ai/agentscope/issues/2420
  [/^muse-spark/, { ...SEALS, efforts: ['minimal', ...THREE, 'xhigh'] }],
]

/** What is known of a model by its name at an upstream. */
export const openaiModel = remembered(find)

function find(model: string): OpenaiModel {
  const name = bareModelName(model)
  return FAMILIES.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN
}

/** Whether a model is one of OpenAI's own, by who is asked or by its name: gateways in front of OpenAI hand everything on. */
export function isOpenais(target: Pick<Target, 'vendor' | 'model'>): boolean {
  return isServedByOpenai(target) || openaiModel(target.model).reasons !== undefined
}

/** Whether a model reasons that is told this effort; undefined: not known. */
export function reasonsAt(
  {
    reasons,
    reasonsIfAsked,
    reasonsUntold,
  }: Pick<OpenaiModel, 'reasons' | 'reasonsIfAsked' | 'reasonsUntold'>,
  effort: JsonValue | undefined,
): boolean | undefined {
  if (reasons !== true) return reasonsUntold || reasons
  return effort === undefined ? !reasonsIfAsked : effort !== 'none'
}

/** The effort of a model that is to think as it likes and would not think unasked: that of the others which are told none. */
export function likedEffort(
  { effort, budgetTokens }: Reasoning,
  { reasonsIfAsked }: Pick<OpenaiModel, 'reasonsIfAsked'>,
): Effort | undefined {
  return reasonsIfAsked && effort === undefined && budgetTokens === -1 ? 'medium' : undefined
}

/** A model's name without its vendor's (`openai/gpt-5`, and at Amazon `us.openai.gpt-oss-120b-1:0`), in small letters. */
export function bareModelName(model: string): string {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase()
  return name.replace(/^(?:[a-z]+\.)?openai\./, '')
}
