import type { Loss, RequestField } from '@/generation/loss.ts'
import type { GenerationRequest } from '@/generation/request.ts'

/** What of a request its target cannot say, each thing once. */
export class Losses {
  readonly list: Loss[] = []
  /** A caller may write thousands of things of which each is another. */
  readonly #known = new Set<string>()

  add(field: RequestField | 'extension', name?: string): void {
    const key = name === undefined ? field : `${field}.${name}`
    if (this.#known.has(key)) return
    this.#known.add(key)
    this.list.push({ field, name })
  }

  addAll(losses: readonly Loss[]): void {
    for (const { field, name } of losses) this.add(field, name)
  }
}

/** Adds those of these fields by which a request says something, for a format that does not have them. */
export function loseUnsupported(
  request: GenerationRequest,
  fields: readonly RareField[],
  losses: Losses,
): void {
  for (const field of fields) if (SAYS[field](request)) losses.add(field)
}

/** What every format can say, if only in words of the prompt, or what the gateway sees to. */
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
  | 'unread'

/** The other fields, which not every format has, and whether a request says something by one: a default says nothing. */
const SAYS = {
  verbosity: ({ verbosity = 'medium' }) => verbosity !== 'medium',
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

/** A field that not every format has. */
export type RareField = keyof typeof SAYS
