import { GatewayError } from '@/errors/gateway-error.ts'

/** The longest event of an upstream, in bytes: a generated image or a sound in base64 has a few MiB. */
export const MAX_EVENT_BYTES = 64 * 1024 * 1024

/** Cuts an upstream's stream between its server-sent events, without decoding them. */
export class EventSplitter {
  readonly #maxTailBytes: number
  /** The event that has not ended, in a buffer that doubles; its first `#length` bytes count. */
  #tail = NOTHING
  #length = 0

  /** @param maxTailBytes the longest event that may be held back, in bytes */
  constructor(maxTailBytes: number) {
    this.#maxTailBytes = maxTailBytes
  }

  /**
   * Emits the events that this chunk completes as runs, each a view of one or more whole events: at most one run
   * that was joined over chunks, then one of the chunk's own memory. An event ends with its empty line, however
   * lines end (LF, CRLF, CR); an empty line on its own is an event, too. Nothing is emitted twice or held back, but
   * for a CR at the end of a chunk: it waits for the LF that may belong to it.
   * @throws GatewayError `upstream_error` when an event that has not ended is longer than the bound.
   */
  push(chunk: Uint8Array, emit: (run: Buffer) => void): void {
    if (chunk.length === 0) return
    const bytes = toBuffer(chunk)
    let start = 0
    if (this.#length > 0) {
      start = this.#endOfTail(bytes)
      if (start < 0) return this.#hold(bytes)
      this.#append(bytes.subarray(0, start))
      emit(this.#take())
    }
    const end = lastBorder(bytes, start)
    if (end > start) emit(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end))
    if (end < bytes.length) this.#hold(bytes.subarray(end))
  }

  /** True when no event has begun that has not ended. */
  get isBetween(): boolean {
    return this.#length === 0
  }

  /** What has come of an event that has not ended. */
  rest(): Buffer {
    return this.#tail.subarray(0, this.#length)
  }

  /** Where in the chunk the event in the tail ends; -1 when it does not. */
  #endOfTail(bytes: Buffer): number {
    const tail = this.rest()
    const last = tail.length - 1
    if (tail[last] === LF) return new Borders(bytes).next()
    if (tail[last] !== CR) return new Borders(bytes, -1).next()
    const lineStart = bytes[0] === LF ? 1 : 0
    return endsEmptyLine(tail, last, 0) ? lineStart : new Borders(bytes, lineStart).next()
  }

  #hold(bytes: Buffer): void {
    if (this.#length + bytes.length > this.#maxTailBytes) {
      throw eventTooLong(this.#maxTailBytes)
    }
    this.#append(bytes)
  }

  #append(bytes: Buffer): void {
    const length = this.#length + bytes.length
    if (length > this.#tail.length) {
      const grown = Buffer.allocUnsafe(Math.max(FIRST_CAPACITY, this.#tail.length * 2, length))
      this.#tail.copy(grown, 0, 0, this.#length)
      this.#tail = grown
    }
    bytes.copy(this.#tail, this.#length)
    this.#length = length
  }

  /** The tail, given away: its memory is not written to again. */
  #take(): Buffer {
    const taken = this.rest()
    this.#tail = NOTHING
    this.#length = 0
    return taken
  }
}

/** Whether an event ends where these bytes do, beyond doubt: a CR at their end may be half a line end. */
export function endsEvent(bytes: Uint8Array): boolean {
  const last = bytes.length - 1
  return bytes[last] === LF && endsEmptyLine(bytes, last, 0)
}

/** Visits the events of a run one by one, each as a view. */
export function eachEvent(run: Buffer, visit: (event: Buffer) => void): void {
  let start = 0
  const borders = new Borders(run)
  while (start < run.length) {
    const border = borders.next()
    const end = border < 0 ? run.length : border // a CR at the very end is one, too
    visit(run.subarray(start, end))
    start = end
  }
}

const LF = 0x0a
const CR = 0x0d
const NOTHING = Buffer.alloc(0)
const FIRST_CAPACITY = 512

/** Up to here JavaScriptCore keeps a typed array's bytes in the heap: to ask for its `buffer` moves them out, for more than a copy. */
const IN_HEAP = 1000

function toBuffer(chunk: Uint8Array): Buffer {
  if (Buffer.isBuffer(chunk)) return chunk
  return chunk.length <= IN_HEAP
    ? Buffer.from(chunk)
    : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}

/** The ends of the events in some bytes, one after another. */
export class Borders {
  readonly #bytes: Uint8Array
  /** Where the line being read begins; -1 when it began before these bytes. */
  #lineStart: number
  /** The next of each line end, so that neither is searched for twice. */
  #lf: number
  #cr: number

  constructor(bytes: Uint8Array, lineStart = 0) {
    this.#bytes = bytes
    this.#lineStart = lineStart
    this.#lf = bytes.indexOf(LF)
    this.#cr = bytes.indexOf(CR)
  }

  /** The end of the next empty line; -1 when there is none, or only a CR whose LF may still come. */
  next(): number {
    for (let at = this.#lineEnd(); at >= 0; at = this.#lineEnd()) {
      if (at < this.#lineStart) continue // the LF of a CRLF
      const isCr = this.#bytes[at] === CR
      if (isCr && at === this.#bytes.length - 1) return -1
      const end = isCr && this.#bytes[at + 1] === LF ? at + 2 : at + 1
      const isEmpty = at === this.#lineStart
      this.#lineStart = end
      if (isEmpty) return end
    }
    return -1
  }

  #lineEnd(): number {
    const at = this.#cr < 0 || (this.#lf >= 0 && this.#lf < this.#cr) ? this.#lf : this.#cr
    if (at < 0) return -1
    if (at === this.#lf) this.#lf = this.#bytes.indexOf(LF, at + 1)
    else this.#cr = this.#bytes.indexOf(CR, at + 1)
    return at
  }
}

/** The last border after `start`, which is itself one; `start` when there is none. */
function lastBorder(bytes: Buffer, start: number): number {
  const last = bytes.length - 1
  if (bytes[last] === LF && endsEmptyLine(bytes, last, start)) return bytes.length
  let lf = lastIndexOf(bytes, LF, last)
  let cr = lastIndexOf(bytes, CR, last - 1)
  for (let at = Math.max(lf, cr); at >= start; at = Math.max(lf, cr)) {
    const isHalf = at === cr && bytes[at + 1] === LF
    if (!isHalf && endsEmptyLine(bytes, at, start)) return at + 1
    if (at === lf) lf = lastIndexOf(bytes, LF, at - 1)
    else cr = lastIndexOf(bytes, CR, at - 1)
  }
  return start
}

/** The native search takes a negative offset as one from the end. */
function lastIndexOf(bytes: Buffer, byte: number, from: number): number {
  return from < 0 ? -1 : bytes.lastIndexOf(byte, from)
}

/** Whether the line end whose last byte is at `at` ends an empty line of the event that begins at `start`. */
function endsEmptyLine(bytes: Uint8Array, at: number, start: number): boolean {
  const isCrlf = bytes[at] === LF && at > start && bytes[at - 1] === CR
  const before = isCrlf ? at - 2 : at - 1
  return before < start || bytes[before] === LF || bytes[before] === CR
}

/** An upstream whose event has no end: what waits for one is in memory. */
export function eventTooLong(maxBytes: number): GatewayError {
  return new GatewayError('upstream_error', 'The upstream sent an event that is too long', {
    detail: `an event of more than ${maxBytes} bytes`,
  })
}
