import { type JsonObject, parseObject } from '@/json/json.ts'

/** A longer read is not kept for the usage that it told: only that is. */
const MAX_KEPT = 4096

/** The usage that an event told which nobody parsed: where it stands, until somebody wants to know. */
export class PassedUsage {
  #read: Uint8Array | undefined
  #start = 0
  #end = 0

  /** It stands there as JSON, in place of the one before. */
  note(read: Uint8Array, start: number, end: number): void {
    const isShort = read.length <= MAX_KEPT
    this.#read = isShort ? read : new Uint8Array(read.subarray(start, end))
    this.#start = isShort ? start : 0
    this.#end = isShort ? end : end - start
  }

  /** Tells it, once. */
  take(): JsonObject | undefined {
    if (this.#read === undefined) return undefined
    const text = Buffer.from(this.#read.subarray(this.#start, this.#end)).toString('utf8')
    this.#read = undefined
    return parseObject(text)
  }
}
