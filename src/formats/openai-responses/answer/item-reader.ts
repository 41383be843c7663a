import type { DecodeContext } from '@/formats/codec.ts'
import type { CallIds } from '@/formats/tools/call-ids.ts'
import type { Emit } from '@/generation/event.ts'
import type { JsonObject } from '@/json/json.ts'
import type { Seen } from './finish.ts'

/** What every reader of a stream shares. */
export interface StreamSource extends DecodeContext {
  /** Numbers the next part of the answer. */
  nextBlock: () => number
  callIds: CallIds
  /** What the answer held so far. */
  seen: Seen
}

/** Follows one item of a streamed output from its first event to its `done`. */
export interface ItemReader {
  /** Whether the item was told to its end. */
  readonly ended: boolean
  /** Whether this item is of the type that is read here. */
  reads(item: JsonObject): boolean
  added(item: JsonObject, emit: Emit): void
  /** The whole item came: what the deltas left out is told now. Only the first counts. */
  done(item: JsonObject, emit: Emit): void
  /** The answer ended without the item's `done`. */
  cut(emit: Emit): void
}
