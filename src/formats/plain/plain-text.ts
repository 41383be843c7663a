import type { Emit, GenerationEvent } from '@/generation/event.ts'
import type { StreamMachine } from '@/generation/machine.ts'
import type { JsonObject } from '@/json/json.ts'
import type { SseEvent } from '@/sse/event.ts'

/*
 * The fast path of text, thoughts and tool input. Most events of an answer are plain: they differ from the one before in
 * a piece of text, and in nothing else that matters. Such an event need not be parsed: its text, which is JSON already,
 * is taken out of the upstream's event and put into the caller's as it is (formats/plain/fast-path.ts). Everything else
 * goes the general way, through `push`, and so does an event about which there is the least doubt. What comes out is the
 * same, byte by byte.
 */

/** Reads a stream of some format. */
export interface StreamDecoder extends StreamMachine<SseEvent, GenerationEvent> {
  /** `broken`: the upstream did not close, its connection broke. Formats with an end of their own need not know. */
  end(emit: Emit, broken?: boolean): void
  /** Undefined: no event of this stream is plain. */
  readonly plain: PlainReader | undefined
  /**
   * What a whole answer of this format ends in and this one left out: events, the format's last one included, that take
   * the place of that one; empty if nothing is missing. Asked once the answer has come to its end without an error.
   * Undefined: the format has one last event, and an answer without it is cut.
   */
  missingEnd?(): string
  /** True once the last event told that the answer failed, while one that says why may follow; left out: none does. */
  readonly isFailing?: boolean
  /** How much of its end an answer without its last event has said; left out where that event says all of it. */
  readonly ending?: Ending | undefined
  /** The upstream's last word for the service tier that serves the answer; undefined: none so far. */
  servedTier(): string | undefined
}

/**
 * `some`: fewer answers ended than were asked for, and no other began: it is whole if none does. `reason`: why it ends, so
 * that it is whole if nothing more comes. `all`: no other event may follow than the last.
 */
export type Ending = 'some' | 'reason' | 'all'

/** Writes a stream of some format: whole events as text. */
export interface StreamEncoder extends StreamMachine<GenerationEvent, string> {
  /**
   * Writes what comes of this block past `push`; undefined where that would not be the same. Good until anything but a
   * `usage` is pushed.
   */
  plainText(block: number): PlainWriter | undefined
}

/** What a plain event gives when it goes the general way: a piece of text for a block that is open. */
export type PlainDelta = Extract<
  GenerationEvent,
  { type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta' }
>

/** Whether an event is a piece of text and nothing else. */
export function isPlainDelta(event: GenerationEvent): event is PlainDelta {
  return event.type === 'text-delta' || event.type === 'tool-input-delta' || event.type === 'reasoning-delta'
}

/** The part of a decoder that knows about plain events. */
export interface PlainReader {
  /**
   * Asked when a push gave one plain delta, with or without a `usage` behind it, and nothing else. The result is what
   * the event is like if the same one with another text would give just that text for the same block, were it pushed
   * next; and so on. The text is well-formed and not empty. The other places that the shape names may differ as well.
   */
  plainShape(): PlainShape | undefined
  /** For plain events of that shape that are not pushed. Told before anything is pushed again. */
  plainNote(): PlainNote
  /** Tells the usage that a plain event told which was not pushed. */
  skipUsage(usage: JsonObject, emit: Emit): void
  /**
   * Told of text that passed unread, behind the last event that was pushed: about how many bytes it has in JSON. Left out
   * where no event says again what others said.
   */
  skipUnread?(bytes: number): void
}

/** Takes note of what plain events said: of how much, in UTF-16 units, or of the text itself, which costs more to keep. */
export type PlainNote =
  | { readonly of: 'length'; add(length: number): void }
  | { readonly of: 'text'; add(text: string): void }
  | typeof NO_NOTE

/** For those who need to know nothing of what plain events said. */
export const NO_NOTE = { of: 'nothing' } as const

/** Where in the JSON of an event something stands: keys and places in lists. */
export type JsonPath = readonly (string | number)[]

/** Where in an event stands what may differ from the one before; all else is the same to the letter. */
export interface PlainShape {
  text: JsonPath
  /** Strings and counts that differ from event to event and mean nothing to the decoder. */
  loose: readonly JsonPath[]
  /** An object whose counts differ from event to event, each replacing the one before. */
  usage: JsonPath | undefined
}

/** How deltas of one open block of text are written: as JSON.stringify writes the text, without its quotes, between these. */
export interface PlainWriter {
  readonly before: string
  readonly after: string
  /** Where events are numbered: each number stands behind `before`, and this between it and the text. */
  readonly numbered: { readonly between: string; readonly counter: Counter } | undefined
  /**
   * Where each event holds the last character of its text back for the next: what the next one's text begins with, as
   * it is escaped. Undefined: nothing is held back.
   */
  readonly held: string | undefined
  /** For what deltas said. Told before anything is pushed again. */
  readonly note: PlainNote
}

/** Numbers events. */
export interface Counter {
  /** The number of the next one. */
  next: number
}
