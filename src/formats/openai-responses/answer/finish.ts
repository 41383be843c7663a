import type { Finish, StopReason } from '@/generation/response.ts'
import { asObject, asString, type JsonObject } from '@/json/json.ts'

/** What an answer held, as far as it decides why it ended: this format has no stop reason of its own. */
export interface Seen {
  calls: boolean
  refusal: boolean
}

/** Why a completed or incomplete response ended. */
export function decodeFinish(response: JsonObject, seen: Seen): Finish {
  if (response['status'] !== 'incomplete') return finish(completedReason(seen), undefined)
  const reason = asString(asObject(response['incomplete_details'])?.['reason'])
  switch (reason) {
    case undefined:
    case 'max_output_tokens':
      return finish('length', undefined)
    case 'content_filter':
      return finish('content-filter', undefined)
    default:
      return finish('other', reason)
  }
}

function completedReason(seen: Seen): StopReason {
  if (seen.calls) return 'tool-calls'
  return seen.refusal ? 'refusal' : 'end'
}

function finish(reason: StopReason, message: string | undefined): Finish {
  return { reason, stopSequence: undefined, message }
}

/** The `incomplete_details.reason` of each stop reason; null where the answer is complete. */
export const INCOMPLETE_REASON = {
  end: null,
  'stop-sequence': null,
  'tool-calls': null,
  length: 'max_output_tokens',
  'context-length': 'max_output_tokens',
  'content-filter': 'content_filter',
  'prompt-blocked': 'content_filter',
  refusal: null,
  pause: 'max_output_tokens',
  'malformed-tool-call': null,
  other: null,
} as const satisfies Record<StopReason, 'max_output_tokens' | 'content_filter' | null>
