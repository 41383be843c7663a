import type { Target } from '@/formats/codec.ts'
import { DEEPSEEK } from '@/formats/deepseek.ts'
import { remembered } from '@/formats/remembered.ts'
import type { Effort } from '@/generation/request.ts'

/** What a model of this format takes and refuses, as far as requests depend on it. */
export interface ModelTraits {
  /** Its largest `max_tokens`; undefined where we do not know the model. */
  maxOutputTokens: number | undefined
  /** How thinking is asked for: by a token budget, adaptively with an effort, or not at all. */
  thinking: 'none' | 'budget' | 'adaptive'
  /** How thinking is switched off; `never` is a model that always thinks. */
  thinkingOff: 'disabled' | 'between_tools' | 'never'
  /** Whether it thinks when the request says nothing. */
  thinksByDefault: boolean
  /** Whether `tool_choice` may force a call (while thinking is off). */
  forcedTools: boolean
  /** Sampling parameters: all, temperature and top_p not together, or none. */
  sampling: 'all' | 'one' | 'none'
  /** The values of `output_config.effort` that it takes, weakest first; empty where it takes none. */
  efforts: readonly Effort[]
  /** Whether it takes `output_config.format` and strict tools. */
  outputFormat: boolean
  /** Whether messages may have the role `system`. */
  systemTurns: boolean
  /** Whether the conversation may end in an assistant turn that the answer continues. */
  prefill: boolean
  /** Whether it reads documents. vLLM and SGLang refuse them, Ollama and llama.cpp pass over them. */
  documents: boolean
  /** Whether Anthropic's server runs tools for it. */
  hostedTools: boolean
  /** Whether it thinks unless it is told not to, and then refuses a forced call, and a conversation with a call whose thought is missing. */
  needsThoughts: boolean
}

const FIRST: ModelTraits = {
  maxOutputTokens: 4096,
  thinking: 'none',
  thinkingOff: 'disabled',
  thinksByDefault: false,
  forcedTools: true,
  sampling: 'all',
  efforts: [],
  outputFormat: false,
  systemTurns: false,
  prefill: true,
  documents: true,
  hostedTools: true,
  needsThoughts: false,
}
const CLAUDE_3_7: ModelTraits = { ...FIRST, maxOutputTokens: 64_000, thinking: 'budget' }
const CLAUDE_4_5: ModelTraits = { ...CLAUDE_3_7, sampling: 'one', outputFormat: true }
const CLAUDE_4_6: ModelTraits = {
  ...CLAUDE_4_5,
  maxOutputTokens: 128_000,
  thinking: 'adaptive',
  efforts: ['low', 'medium', 'high', 'max'],
  prefill: false,
}
const CLAUDE_4_7: ModelTraits = {
  ...CLAUDE_4_6,
  sampling: 'none',
  efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
}
/** `claude-mythos-preview`, from before its family had versions. */
const MYTHOS_PREVIEW: ModelTraits = {
  ...CLAUDE_4_6,
  thinksByDefault: true,
  thinkingOff: 'never',
  forcedTools: false,
}
const CLAUDE_4_8: ModelTraits = { ...CLAUDE_4_7, systemTurns: true }
const CLAUDE_5: ModelTraits = { ...CLAUDE_4_8, thinksByDefault: true }
const ALWAYS_THINKS: ModelTraits = { ...CLAUDE_5, thinkingOff: 'never', forcedTools: false }
const SONNET_5_5: ModelTraits = { ...CLAUDE_5, thinkingOff: 'between_tools', forcedTools: false }

/** A model that only speaks the format (another vendor's): nothing that came to it later than thinking budgets. */
const FOREIGN: ModelTraits = {
  ...CLAUDE_3_7,
  maxOutputTokens: undefined,
  documents: false,
  hostedTools: false,
}
/** DeepSeek's own: https://api-docs.deepseek.com/guides/thinking_mode, https://github.com/deepseek-ai/DeepSeek-V3/issues/1376 */
const DEEPSEEKS: ModelTraits = { ...FOREIGN, needsThoughts: true }

/**
 * Newest first; the first row whose family and version fit counts. Versions are major * 100 + minor.
 * Source: the "what's new" page of each model, https://platform.claude.com/docs/en/about-claude/models/overview
 */
const ROWS: readonly { families: RegExp; from: number; is: ModelTraits }[] = [
  { families: /fable|mythos/, from: 500, is: ALWAYS_THINKS },
  { families: /opus/, from: 505, is: ALWAYS_THINKS },
  { families: /sonnet/, from: 505, is: SONNET_5_5 },
  { families: /sonnet/, from: 500, is: { ...CLAUDE_5, systemTurns: false } },
  { families: /./, from: 500, is: CLAUDE_5 },
  { families: /./, from: 408, is: CLAUDE_4_8 },
  { families: /./, from: 407, is: CLAUDE_4_7 },
  { families: /./, from: 406, is: CLAUDE_4_6 },
  { families: /./, from: 405, is: CLAUDE_4_5 },
  { families: /opus/, from: 401, is: { ...CLAUDE_4_5, maxOutputTokens: 32_000 } },
  { families: /opus/, from: 400, is: { ...CLAUDE_3_7, maxOutputTokens: 32_000 } },
  { families: /./, from: 307, is: CLAUDE_3_7 },
  { families: /./, from: 305, is: { ...FIRST, maxOutputTokens: 8192 } },
  { families: /./, from: 0, is: FIRST },
]

/** `claude-opus-4-1-20250805`, `anthropic/claude-opus-4.1`, `us.anthropic.claude-opus-4-1-v1:0`. */
const FAMILY_FIRST = /claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/
/** `claude-3-5-sonnet-20241022`, `claude-2.1`. */
const VERSION_FIRST = /claude-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)(?:-([a-z]+))?/

/**
 * What is known of an upstream's model, by its name. An unknown Claude is taken for a new one. DeepSeek serves models of its
 * own by Anthropic's names as well: https://api-docs.deepseek.com/guides/anthropic_api
 */
export function modelTraits({ model, vendor }: Pick<Target, 'model' | 'vendor'>): ModelTraits {
  return DEEPSEEK.test(vendor) ? DEEPSEEKS : traitsByName(model)
}

const traitsByName = remembered(traitsOf)

function traitsOf(model: string): ModelTraits {
  const name = model.toLowerCase()
  if (!name.includes('claude')) return FOREIGN
  if (name.includes('claude-instant')) return FIRST
  const byFamily = FAMILY_FIRST.exec(name)
  if (byFamily !== null) return row(byFamily[1] ?? '', byFamily[2], byFamily[3])
  const byVersion = VERSION_FIRST.exec(name)
  if (byVersion !== null) return row(byVersion[3] ?? 'claude', byVersion[1], byVersion[2])
  return name.includes('claude-mythos-preview') ? MYTHOS_PREVIEW : CLAUDE_5
}

function row(family: string, major: string | undefined, minor: string | undefined): ModelTraits {
  const version = Number(major ?? 0) * 100 + Number(minor ?? 0)
  const found = ROWS.find(row => row.from <= version && row.families.test(family))
  return found?.is ?? FIRST
}
