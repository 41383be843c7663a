import type { RequestField } from '@/generation/loss.ts'

/** What Anthropic's format and OpenAI's two call alike, or would: not each of them has all of these. */
export const COMMON_NAMES = {
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  logitBias: 'logit_bias',
  candidates: 'n',
  modalities: 'modalities',
  metadata: 'metadata',
  promptCacheKey: 'prompt_cache_key',
  serviceTier: 'service_tier',
  store: 'store',
} as const satisfies Partial<Record<RequestField, string>>
