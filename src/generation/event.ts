import type { GatewayError } from '@/errors/gateway-error.ts'
import type { JsonValue } from '@/json/json.ts'
import type { Citation, MediaPart, OpaquePart, Signature, ToolCallKind } from './part.ts'
import type { Finish } from './response.ts'
import type { Usage } from './usage.ts'

/**
 * One step of a streamed answer. `block` numbers the answer's parts in the order in which they began, over all
 * candidates, from 0; a block's events may interleave with those of other blocks (parallel tool calls do).
 * Lawful order: `start` first (another one later knows more, as a tier told at the end, and replaces it); each block
 * start, deltas, end; `finish` of each candidate after all of its blocks ended; `usage` at any time (cumulative: a later
 * one replaces an earlier); after `error` nothing follows.
 */
export type GenerationEvent =
  | { type: 'start'; id: string | undefined; model: string | undefined; serviceTier: string | undefined }
  | { type: 'text-start'; block: number; candidate: number }
  | { type: 'text-delta'; block: number; text: string }
  /** May come after its text has ended: some vendors name their sources last. */
  | { type: 'text-citation'; block: number; citation: Citation }
  | { type: 'text-end'; block: number; signature: Signature | undefined }
  | { type: 'refusal-start'; block: number; candidate: number }
  | { type: 'refusal-delta'; block: number; text: string }
  | { type: 'refusal-end'; block: number }
  | {
      type: 'reasoning-start'
      block: number
      candidate: number
      id: string | undefined
      /** As in ReasoningPart. */
      raw: boolean
      redacted: boolean
    }
  /** A paragraph begins (a summary part at Responses, the only one elsewhere); deltas belong to the last one begun. */
  | { type: 'reasoning-paragraph'; block: number }
  | { type: 'reasoning-delta'; block: number; text: string }
  | { type: 'reasoning-end'; block: number; signature: Signature | undefined }
  | {
      type: 'tool-input-start'
      block: number
      candidate: number
      kind: ToolCallKind
      callId: string
      name: string
      namespace: string | undefined
      /** That of the call's end, where it is known before the input. */
      signature?: Signature
    }
  | { type: 'tool-input-delta'; block: number; text: string }
  | { type: 'tool-input-end'; block: number; signature: Signature | undefined }
  /** A whole media part of the answer (a generated image). */
  | { type: 'media'; block: number; candidate: number; media: MediaPart }
  /** A whole part that only one format knows (a server tool's call or result). */
  | { type: 'opaque'; block: number; candidate: number; part: OpaquePart }
  | { type: 'logprobs'; candidate: number; content: readonly JsonValue[] }
  /**
   * Output that came and that no event has told yet, in UTF-8 bytes: it is held back until it is whole, or goes to a tool
   * that the vendor runs. Below zero: so many of those bytes are told now. It is for the charge; no encoder writes it.
   */
  | { type: 'withheld'; bytes: number }
  /** `soFar`: it is of a part of the answer, as in Messages' first event; the rest is told at the end, which may not come. */
  | { type: 'usage'; usage: Usage; soFar?: true }
  | { type: 'finish'; candidate: number; finish: Finish }
  | { type: 'error'; error: GatewayError }

/** The events of some types. */
export type EventOf<Type extends GenerationEvent['type']> = Extract<GenerationEvent, { type: Type }>

/** What belongs to one part of the answer. */
export type BlockEvent = Extract<GenerationEvent, { block: number }>

/** Takes what comes next of an answer. */
export type Emit = (event: GenerationEvent) => void

/** Counts output that no event tells, if there is any. */
export function withhold(text: string | undefined, emit: Emit): void {
  if (text !== undefined && text !== '') emit({ type: 'withheld', bytes: Buffer.byteLength(text) })
}

/** Takes what comes next of an answer as its caller gets it: whole events of a format. */
export type EmitText = (text: string) => void
