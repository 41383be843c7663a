import type { JsonObject } from '@/json/json.ts'

/** The four surfaces, as callers and as upstreams. */
export const SIDES = ['chat', 'responses', 'messages', 'gemini'] as const
export type Side = (typeof SIDES)[number]

/** Whether an answer is wanted in one piece or as a stream. */
export type Mode = 'whole' | 'streamed'

export interface ToolSpec {
  name: string
  description: string
  parameters: JsonObject
  /** True: it takes free text, where the surface has such tools. */
  free?: boolean
}

/** What a caller asks beside the conversation; each surface says it in its own fields. */
export interface Wishes {
  system?: string
  tools?: readonly ToolSpec[]
  /** A tool's name forces that one. */
  choice?: 'auto' | 'none' | 'required' | { tool: string }
  /** False: at most one call. */
  parallel?: boolean
  /** The schema of a JSON answer; `any`: some JSON object. */
  schema?: JsonObject | 'any'
  maxTokens?: number
  stop?: readonly string[]
  /** Think, and show it. */
  thinks?: boolean
  /** Answers wanted. */
  candidates?: number
  /** Log probabilities of the answer's tokens. */
  logprobs?: boolean
  /** Mark the system text for the vendor's prompt cache, where the surface has a mark. */
  cacheSystem?: boolean
}

export interface Call {
  id: string
  name: string
  /** The parsed arguments, or the text of a tool that takes text. */
  input: unknown
  free?: boolean
}

export interface ToolOutcome {
  call: Call
  text: string
  isError?: boolean
  /** Base64 of a PNG beside the text. */
  image?: string
}

/** Token counts in one arithmetic: the totals include their details. */
export interface Tokens {
  input: number
  cached: number
  output: number
  reasoning: number
}

/** An answer as the surface's own SDK understood it. */
export interface Answer {
  id: string
  model: string
  text: string
  reasoning: string
  refusal: string
  calls: Call[]
  /** Base64 of generated images. */
  images: string[]
  /** The surface's own word for why it ended. */
  finish: string
  tokens: Tokens
  /** The texts of the other answers, where several were wanted. */
  others: string[]
  /** The tokens of the text with their log probabilities, where these were wanted. */
  logprobs: { token: string; logprob: number }[]
  /** The grand total where the surface has one. */
  total: number | undefined
}

/** A conversation held through one official SDK, which keeps its history in the SDK's own types. */
export interface Talk {
  /** @param attached base64 of a PNG or a PDF */
  user(text: string, attached?: { image?: string; pdf?: string }): void
  /** System text in the middle of the talk; a surface without such turns throws. */
  system(text: string): void
  /** A turn of the assistant that the caller made up. */
  assistant(text: string): void
  results(outcomes: readonly ToolOutcome[]): void
  /** Asks, and appends the answer to the history exactly as the SDK gave it. */
  ask(model: string, mode: Mode, wishes?: Wishes): Promise<Answer>
  /** The same conversation so far, to go on with elsewhere. */
  copy(): Talk
}

/** An error as a surface's own SDK throws it. */
export interface SdkFailure {
  /** Undefined for an error inside a stream. */
  status: number | undefined
  message: string
  /** Its class, as the SDK names it. */
  name: string
}

/** One surface seen through its official SDK. */
export interface Caller {
  side: Side
  talk(): Talk
  /** What the SDK threw, read in the surface's shape. */
  failure(error: unknown): SdkFailure
}
