import type { GenerationEvent } from '@/generation/event.ts'
import type { Signature, ToolCallKind } from '@/generation/part.ts'
import type { Finish, StopReason } from '@/generation/response.ts'

export const START: GenerationEvent = { type: 'start', id: 'up', model: 'up', serviceTier: undefined }

export function textEvents(block: number, ...deltas: string[]): GenerationEvent[] {
  return [
    { type: 'text-start', block, candidate: 0 },
    ...deltas.map(text => ({ type: 'text-delta', block, text }) as const),
    { type: 'text-end', block, signature: undefined },
  ]
}

/** A thought of these paragraphs. */
export function reasoningEvents(
  block: number,
  paragraphs: readonly string[],
  signature?: Signature,
  redacted = false,
): GenerationEvent[] {
  return [
    { type: 'reasoning-start', block, candidate: 0, id: undefined, raw: false, redacted },
    ...paragraphs.flatMap(
      text =>
        [
          { type: 'reasoning-paragraph', block },
          { type: 'reasoning-delta', block, text },
        ] as const,
    ),
    { type: 'reasoning-end', block, signature },
  ]
}

/** A whole call, its arguments in these pieces. */
export function callEvents(block: number, name: string, ...pieces: string[]): GenerationEvent[] {
  return [callStart(block, name), ...pieces.map(piece => input(block, piece)), callEnd(block)]
}

export function callStart(block: number, name = 'f', kind: ToolCallKind = 'function') {
  const callId = `call_${block}`
  return { type: 'tool-input-start', block, candidate: 0, kind, callId, name, namespace: undefined } as const
}

export function input(block: number, text: string): GenerationEvent {
  return { type: 'tool-input-delta', block, text }
}

export function callEnd(block: number, signature?: Signature): GenerationEvent {
  return { type: 'tool-input-end', block, signature }
}

export function finish(
  reason: StopReason = 'end',
  fields: Partial<Finish> = {},
  candidate = 0,
): GenerationEvent {
  return {
    type: 'finish',
    candidate,
    finish: { reason, stopSequence: undefined, message: undefined, ...fields },
  }
}
