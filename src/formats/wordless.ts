import type { GenerationRequest } from '@/generation/request.ts'
import type { Losses } from './losses.ts'

/** What every format says of a request, in its own words or by other means, or what the gateway sees to. */
type SaidByAll =
  | 'model'
  | 'stream'
  | 'instructions'
  | 'turns'
  | 'tools'
  | 'toolChoice'
  | 'parallelToolCalls'
  | 'output'
  | 'reasoning'
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'stop'
  | 'candidates'
  | 'serviceTier'
  | 'extensions'
  | 'unsaid'

/**
 * The other fields, which some format has no words for, and whether a request says anything by them: what every model
 * does unasked says nothing.
 */
const SAYS = {
  verbosity: ({ verbosity }) => verbosity !== undefined,
  topK: ({ topK }) => topK !== undefined,
  seed: ({ seed }) => seed !== undefined,
  presencePenalty: ({ presencePenalty = 0 }) => presencePenalty !== 0,
  frequencyPenalty: ({ frequencyPenalty = 0 }) => frequencyPenalty !== 0,
  logitBias: ({ logitBias = {} }) => Object.keys(logitBias).length > 0,
  logprobs: ({ logprobs }) => logprobs !== undefined,
  modalities: ({ modalities }) => modalities.includes('image'),
  user: ({ user }) => user !== undefined,
  metadata: ({ metadata = {} }) => Object.keys(metadata).length > 0,
  promptCacheKey: ({ promptCacheKey }) => promptCacheKey !== undefined,
  store: ({ store }) => store === true,
} as const satisfies Record<
  Exclude<keyof GenerationRequest, SaidByAll>,
  (request: GenerationRequest) => boolean
>

/** One of them. */
export type RareField = keyof typeof SAYS

/** Notes what a request says in fields that a format has no words for. */
export function loseWordless(request: GenerationRequest, fields: readonly RareField[], losses: Losses): void {
  for (const field of fields) if (SAYS[field](request)) losses.add(field)
}
