import { runMachine } from '@/generation/machine.ts'
import { type JsonObject, parseObject } from '@/json/json.ts'
import { createSseParser } from '@/sse/parser.ts'
import { eachEvent } from '@/sse/splitter.ts'

/** How much of the end of a run is kept to read the number of its last event from. */
const TRAIL_BYTES = 4096

/**
 * What a stream said first and last, for an error event of ours in formats that number their events. Keeps copies, since a
 * view would hold all of the read it is part of.
 */
export class EventTrail {
  #first: Buffer | undefined
  #last: Uint8Array = Buffer.alloc(0)

  follow(run: Uint8Array): void {
    this.#first ??= Buffer.from(firstEvent(Buffer.from(run)))
    this.#last = Buffer.from(run.subarray(-TRAIL_BYTES))
  }

  /** The same for a later read that is a run as a whole: it need not be copied, as long as it is short. */
  followRead(read: Uint8Array): void {
    this.#last = read.length <= TRAIL_BYTES ? read : Buffer.from(read.subarray(-TRAIL_BYTES))
  }

  /** The number of the last event, beside the response that the first one announced. */
  lastData(): JsonObject | undefined {
    const numbers = [
      ...Buffer.from(this.#last)
        .toString('latin1')
        .matchAll(/"sequence_number"\s*:\s*(\d+)/g),
    ]
    const response =
      this.#first && parseObject(runMachine(createSseParser(), [this.#first])[0]?.data ?? '')?.['response']
    const last = numbers.at(-1)?.[1]
    return {
      ...(response === undefined ? {} : { response }),
      ...(last === undefined ? {} : { sequence_number: Number(last) }),
    }
  }
}

function firstEvent(run: Buffer): Buffer {
  let first: Buffer | undefined
  eachEvent(run, event => {
    first ??= event
  })
  return first ?? run
}
