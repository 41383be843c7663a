import type { JsonObject } from '@/json/json.ts'
import type { Format } from './format.ts'
import type { Part, TextPart } from './part.ts'
import type { Tool, ToolChoice } from './tool.ts'

/**
 * One step of the conversation. Tool results stand in `user` turns, as parts before any other part; a `system` turn
 * is system text in the middle of the talk (text at the head is `GenerationRequest.instructions`).
 * Neighbouring turns may have the same role: encoders merge where their format wants it.
 */
export interface Turn {
  role: 'user' | 'assistant' | 'system'
  parts: readonly Part[]
}

/** Whether a turn has no part that says anything, so that no format has a message for it. */
export function isSilent({ parts }: Turn): boolean {
  return parts.every(part => part.type === 'text' && part.text === '' && part.signature === undefined)
}

/** The parts of a turn in the order that it promises, whatever order its caller wrote them in. */
export function resultsFirst(parts: readonly Part[]): Part[] {
  const { results = [], others = [] } = Object.groupBy(parts, ({ type }) =>
    type === 'tool-result' ? 'results' : 'others',
  )
  return [...results, ...others]
}

/** All efforts, weakest first. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
/** How hard to think. */
export type Effort = (typeof EFFORTS)[number]

/** How long an answer may be in general, shortest first. */
export const VERBOSITIES = ['low', 'medium', 'high'] as const
/** How long an answer should be in general. */
type Verbosity = (typeof VERBOSITIES)[number]

/** Kinds of output beside one another. */
export const MODALITIES = ['text', 'image', 'audio'] as const
/** A kind of output. */
export type Modality = (typeof MODALITIES)[number]

/** How fully thoughts may be shown, beside not at all. */
export const SUMMARIES = ['auto', 'concise', 'detailed'] as const

/** What the caller said about thinking. Undefined fields are the caller's silence. */
export interface Reasoning {
  /** The stated effort; `none` is "do not think". */
  effort: Effort | undefined
  /** A stated budget in tokens; -1 is "as much as the model likes" (Gemini's dynamic, Anthropic's adaptive). */
  budgetTokens: number | undefined
  /** Whether thoughts should be shown, and how fully. `none`: think, but show nothing. */
  summary: 'none' | (typeof SUMMARIES)[number] | undefined
}

/** Whether it is said both how hard to think and for how many tokens: most models can be told only one of the two. */
export function limitsEffort({ effort, budgetTokens = -1 }: Reasoning): boolean {
  return effort !== undefined && budgetTokens > 0
}

/** The shape the answer's text must have. */
export type OutputFormat =
  | { type: 'text' }
  /** Any JSON object. */
  | { type: 'json' }
  | JsonSchemaOutput

/** JSON of a certain shape. */
export interface JsonSchemaOutput {
  type: 'json-schema'
  name: string | undefined
  description: string | undefined
  schema: JsonObject
  /** Whether the model is held to it. `where-possible`: the caller's format knows no schema that it is not held to. */
  strict: boolean | 'where-possible' | undefined
}

/**
 * A model call in no vendor's words. Every field is a required key, so that each decoder decides about each;
 * undefined (or an empty list) means that the caller said nothing.
 */
export interface GenerationRequest {
  /** The model as the caller named it. */
  model: string
  stream: boolean
  /** System text at the head, in blocks. */
  instructions: readonly TextPart[]
  turns: readonly Turn[]
  tools: readonly Tool[]
  toolChoice: ToolChoice | undefined
  /** False: at most one tool call an answer. */
  parallelToolCalls: boolean | undefined
  output: OutputFormat | undefined
  verbosity: Verbosity | undefined
  reasoning: Reasoning | undefined
  /** Most tokens of the answer, reasoning included. */
  maxOutputTokens: number | undefined
  temperature: number | undefined
  topP: number | undefined
  topK: number | undefined
  /** Texts that end the answer when the model writes them; they are not part of it. */
  stop: readonly string[]
  seed: number | undefined
  presencePenalty: number | undefined
  frequencyPenalty: number | undefined
  logitBias: Readonly<Record<string, number>> | undefined
  /** Log probabilities of the answer's tokens with the `top` likeliest alternatives. */
  logprobs: { top: number | undefined } | undefined
  /** Number of answers (`n`, `candidateCount`). */
  candidates: number | undefined
  /** Kinds of output asked for beside text. */
  modalities: readonly Modality[]
  /** Caller's id of its end user. */
  user: string | undefined
  metadata: Readonly<Record<string, string>> | undefined
  promptCacheKey: string | undefined
  serviceTier: string | undefined
  /** Whether the vendor may keep the answer for later retrieval. */
  store: boolean | undefined
  /**
   * Top-level fields that the neutral model has no name for, by the format that wrote them. Only that format's
   * encoder reads them; towards another format each key is a declared loss.
   */
  extensions: Partial<Record<Format, JsonObject>>
  /** Fields within others that no decoder reads, as the caller spells them (`thinking.tone`): declared losses, all of them. */
  unread: readonly string[]
}
