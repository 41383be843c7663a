import { asObject, parseObject } from '@/json/json.ts'
import { indexOfMark } from '@/json/mark.ts'
import type { SseEvent } from '@/sse/event.ts'

/** The usage chunk: the one without choices. A chunk that has both is the upstream's own habit and stays. */
export function isUsageChunk(event: SseEvent): boolean {
  if (!event.data.includes('"usage"')) return false
  const chunk = parseObject(event.data)
  const choices = chunk?.['choices']
  return asObject(chunk?.['usage']) !== undefined && Array.isArray(choices) && choices.length === 0
}

const USAGE = Buffer.from('"usage"')

const COMMA = 0x2c
const COLON = 0x3a
const SPACE = 0x20
const LETTER_N = 0x6e
const CLOSING_BRACE = 0x7d
const LF = 0x0a
const CR = 0x0d

/**
 * Writes spaces, which mean nothing there, over the `"usage": null` that the other chunks have where usage is asked for:
 * of clients that did not ask, some stop at it. A quote inside a JSON string is escaped, so the key cannot be found in
 * the answer's text.
 */
export function blankNullUsage(events: Uint8Array): void {
  for (let key = indexOfMark(events, USAGE); key >= 0; key = indexOfMark(events, USAGE, key + USAGE.length)) {
    const start = skipBack(events, key)
    const value = skip(events, key + USAGE.length)
    const end = value + 'null'.length
    if (events[start] !== COMMA || events[value] !== LETTER_N || !isOfChunk(events, end)) continue
    events.fill(SPACE, start, end)
  }
}

/** Whether a member that ends there is one of the chunk itself: the first brace that closes ends the line as well. */
function isOfChunk(events: Uint8Array, end: number): boolean {
  const after = events[events.indexOf(CLOSING_BRACE, end) + 1]
  return after === LF || after === CR
}

/** Where the colon and the spaces behind a key end. */
function skip(events: Uint8Array, from: number): number {
  let at = from
  while (events[at] === COLON || events[at] === SPACE) at += 1
  return at
}

/** Where what stands before the key and its spaces is. */
function skipBack(events: Uint8Array, key: number): number {
  let at = key - 1
  while (events[at] === SPACE) at -= 1
  return at
}
