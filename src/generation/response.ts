import type { JsonValue } from '@/json/json.ts'
import type { Part } from './part.ts'
import type { Usage } from './usage.ts'

/** Why an answer ended, in no vendor's words; each format maps its own to these and back. */
export const STOP_REASONS = [
  /** The model was done. */
  'end',
  /** A caller's stop sequence was written. */
  'stop-sequence',
  /** The answer ends in tool calls that the caller must run. */
  'tool-calls',
  /** The output limit was reached. */
  'length',
  /** The model's context window is full. */
  'context-length',
  /** The vendor's filter stopped the answer. */
  'content-filter',
  /** The vendor's filter refused the prompt. */
  'prompt-blocked',
  /** The model declined. */
  'refusal',
  /** A server-side tool turn was paused and can be continued. */
  'pause',
  /** The model wrote a tool call that cannot be used. */
  'malformed-tool-call',
  /** A reason that the vendor gave and we do not know. */
  'other',
] as const

/** Why a model stopped, in no vendor's words. */
export type StopReason = (typeof STOP_REASONS)[number]

/** How an answer ended. */
export interface Finish {
  reason: StopReason
  /** The sequence that was hit, where the vendor says which. */
  stopSequence: string | undefined
  /** The vendor's own explanation, for people. */
  message: string | undefined
}

/** One answer; formats with `n` or `candidateCount` can give several. */
export interface Candidate {
  /** Its number as the upstream gave it: one of those before it may be missing. */
  index: number
  parts: readonly Part[]
  finish: Finish
  /** Token log probabilities in OpenAI's shape (`{token, logprob, bytes, top_logprobs}`); empty when not given. */
  logprobs: readonly JsonValue[]
}

/** A whole answer in no vendor's words: the fold of its events (collect.ts). */
export interface GenerationResponse {
  /** The upstream's id of the answer. */
  id: string | undefined
  /** The model as the upstream named it. */
  model: string | undefined
  candidates: readonly Candidate[]
  /** Undefined when the upstream gave none of the whole answer. */
  usage: Usage | undefined
  /** That of a part of the answer, where the upstream told no more. */
  usageSoFar?: Usage
  serviceTier: string | undefined
}
