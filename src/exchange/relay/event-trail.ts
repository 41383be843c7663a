import { runMachine } from '@/generation/machine.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'
import { hasMark, lastIndexOfMark, valueAfter } from '@/json/mark.ts'
import { createSseParser } from '@/sse/parser.ts'
import { eachEvent } from '@/sse/splitter.ts'

// A quote inside a JSON string is escaped, so these keys cannot be found in the answer's text.
const NUMBER = Buffer.from('"sequence_number"')
const RESPONSE = [Buffer.from('"response"')]

/**
 * What a stream said first and last, for an error event of ours in formats that number their events. What lies between two
 * events to keep the connection alive has no number, and says nothing.
 */
export class EventTrail {
  /** The event that announced the response; a copy, since a view would hold all of the read it is part of. */
  #first: Buffer | undefined
  #number: number | undefined

  /** Takes note of whole events. */
  follow(events: Uint8Array): void {
    this.#first ??= firstResponse(events)
    this.#number = lastNumber(events) ?? this.#number
  }

  /** The number of the last event, beside the response that the first one announced. */
  lastData(): JsonObject {
    const response =
      this.#first && parseObject(runMachine(createSseParser(), [this.#first])[0]?.data ?? '')?.['response']
    return {
      ...(response === undefined ? {} : { response }),
      ...(this.#number === undefined ? {} : { sequence_number: this.#number }),
    }
  }
}

function firstResponse(events: Uint8Array): Buffer | undefined {
  if (!hasMark(events, RESPONSE)) return undefined
  let first: Buffer | undefined
  eachEvent(Buffer.from(events), event => {
    if (first === undefined && hasMark(event, RESPONSE)) first = Buffer.from(event)
  })
  return first
}

/** The last number that an event has; undefined: none has one. A tool of the response may have a field of that name. */
function lastNumber(events: Uint8Array): number | undefined {
  let at = lastIndexOfMark(events, NUMBER, events.length)
  while (at >= 0) {
    const number = numberAt(events, valueAfter(events, at + NUMBER.length))
    if (number !== undefined || at === 0) return number
    at = lastIndexOfMark(events, NUMBER, at - 1)
  }
  return undefined
}

function numberAt(bytes: Uint8Array, from: number): number | undefined {
  let number: number | undefined
  for (let at = from; isDigit(bytes[at]); at += 1) number = (number ?? 0) * 10 + (bytes[at] ?? 0) - 0x30
  return number
}

function isDigit(byte = 0): boolean {
  return byte >= 0x30 && byte <= 0x39
}
