import type { GenerationEvent } from '@/generation/event.ts'
import type { Format } from '@/generation/format.ts'
import { replay } from '@/generation/replay.ts'
import type { GenerationResponse, StopReason } from '@/generation/response.ts'

/** What replies of a format have room for, of what not every format has. */
export interface ReplyRoom {
  /** Several answers. */
  candidates: boolean
  logprobs: boolean
  /** Sources without an address, as a passage of a document. */
  bareSources: boolean
  /** What upstreams of the format itself have beside its common parts. */
  opaque: boolean
  /** The ends of an answer whose explanation by the vendor has a place. */
  explains: ReadonlySet<StopReason>
}

/** The format of a reply, and what that has room for. */
export interface ReplyFormat {
  format: Format
  replyRoom: ReplyRoom
}

/**
 * The name of what an event of an answer says and a reply of this format cannot; undefined where the reply says all of
 * it. The answer is none the worse for a reader who never heard of it: these are losses, and no errors.
 */
export function answerLoss(
  event: GenerationEvent,
  { format, replyRoom: room }: ReplyFormat,
): string | undefined {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return undefined
    case 'opaque':
      return event.part.format === format && room.opaque ? undefined : event.part.name
    case 'logprobs':
      return room.logprobs ? undefined : 'logprobs'
    case 'text-citation': {
      const { url, wire } = event.citation
      return url !== undefined || room.bareSources || wire?.format === format ? undefined : 'citations'
    }
    case 'finish':
      if (event.candidate > 0 && !room.candidates) return 'candidates'
      return event.finish.message === undefined || room.explains.has(event.finish.reason)
        ? undefined
        : 'finish_message'
    default:
      return undefined
  }
}

/** The names of all that a whole answer says and a reply of this format cannot. */
export function answerLosses(response: GenerationResponse, reply: ReplyFormat): Set<string> {
  const names = new Set<string>()
  for (const event of replay(response)) {
    const name = answerLoss(event, reply)
    if (name !== undefined) names.add(name)
  }
  return names
}
