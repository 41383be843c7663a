import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import { codeOf } from '@/errors/code.ts'

/** Where lines go, and in which portions. */
interface LineWriterOptions {
  /** Where the lines go. It is nobody else's to write to in this process. */
  fd: number
  /** Most bytes of one write, unless a single line is longer; undefined: all that there is. */
  maxWriteBytes?: number | undefined
  /** Told of each line that is not written because nobody takes them. */
  onDropped?: (() => void) | undefined
}

/** Lines are written as soon as there are so many characters of them. */
const BATCH_LENGTH = 64 * 1024
/** And after this time in any case. */
const BATCH_MS = 100
/** What could not be written is tried again after so long, and each time it fails again after twice that. */
const FIRST_RETRY_MS = 1
const MAX_RETRY_MS = 128
/** What a write that is under way is given at the end of the process, in ms: many times what a file takes. */
const IN_FLIGHT_MS = 100
/** In steps of so many, since a machine that stands still for a while takes one of them and not all. */
const IN_FLIGHT_STEP_MS = 2
/** For how long a reader that takes nothing keeps the process from ending, in ms. */
const STILL_MS = 5_000
/** A reader that stands still costs lines, and not the process its memory. In characters. */
const MOST_WAITING = 64 * 1024 * 1024

const NEWLINE = 0x0a
const NOTHING = Buffer.alloc(0)

/** The other end is gone for good. */
const OVER: ReadonlySet<string> = new Set(['EPIPE', 'EBADF'])
/** The reader is slow, and nothing else is wrong. */
const BUSY: ReadonlySet<string> = new Set(['EAGAIN', 'EBUSY'])

/**
 * Writes lines to a file descriptor in order: many at once, since a system call for each costs more than making it, and
 * always whole ones, so that processes that share a pipe do not write into one another's as long as a write is atomic
 * there. A pipe is written to at once and takes what it has room for; all else, where a write may have to wait, in the
 * background. At the end of the process nothing is left, unless its reader stands still. Once nobody reads, nothing is
 * written.
 *
 * Not pino's own destination (sonic-boom), which measures all that it has collected anew with each line.
 */
export class LineWriter {
  readonly #fd: number
  /** Of a pipe it is known at once how much of a write it took: nothing is under way when the process ends. */
  readonly #isPatient: boolean
  readonly #maxWriteBytes: number
  readonly #onDropped: () => void
  #lines: string[] = []
  /** Of the lines, in characters. */
  #length = 0
  /** What is being written now and what of it comes after. */
  #rest: Uint8Array = NOTHING
  /** How much of it the system has been given. */
  #inFlight = 0
  #isWriting = false
  #retryMs = FIRST_RETRY_MS
  #isOver = false
  #timer: Timer | undefined

  constructor({ fd, maxWriteBytes, onDropped }: LineWriterOptions) {
    const pipe = impatientPipe(fd)
    this.#fd = pipe ?? fd
    this.#isPatient = pipe === undefined
    this.#maxWriteBytes = maxWriteBytes ?? Number.POSITIVE_INFINITY
    this.#onDropped = onDropped ?? (() => undefined)
    process.once('exit', () => this.flushSync())
  }

  /** Takes in one line, with its newline. */
  write(line: string): void {
    if (this.#isOver || this.#length > MOST_WAITING) return this.#onDropped()
    this.#lines.push(line)
    this.#length += line.length
    if (this.#length >= BATCH_LENGTH) this.#begin()
    else this.#timer ??= setTimeout(() => this.#due(), BATCH_MS).unref()
  }

  /** Writes what is there and returns when it is done: for the end of the process. */
  flushSync(): void {
    if (this.#isOver) return
    // A write is under way, and its end can no longer be told to anybody. It comes first, so it is given time.
    if (this.#inFlight > 0) {
      for (let ms = 0; ms < IN_FLIGHT_MS; ms += IN_FLIGHT_STEP_MS) Bun.sleepSync(IN_FLIGHT_STEP_MS)
    }
    this.#rest = Buffer.concat([this.#rest.subarray(this.#inFlight), this.#takeLines()])
    this.#inFlight = 0
    let takenAt = performance.now()
    while (this.#rest.length > 0) {
      try {
        this.#advance(this.#writePieceSync())
        takenAt = performance.now()
      } catch (error) {
        if (!BUSY.has(codeOf(error)) || performance.now() - takenAt > STILL_MS) return
        Bun.sleepSync(this.#nextRetryMs())
      }
    }
  }

  #due(): void {
    this.#timer = undefined
    if (this.#lines.length > 0) this.#begin()
  }

  #begin(): void {
    if (this.#isWriting) return
    this.#isWriting = true
    this.#rest = this.#takeLines()
    this.#writeOn()
  }

  #takeLines(): Uint8Array {
    const bytes = Buffer.from(this.#lines.join(''))
    this.#lines = []
    this.#length = 0
    return bytes
  }

  #writeOn(): void {
    if (this.#isPatient) return this.#writePiece()
    try {
      while (this.#rest.length > 0) this.#advance(this.#writePieceSync())
    } catch (error) {
      return this.#failed(error)
    }
    this.#wroteAll()
  }

  #writePieceSync(): number {
    return writeSync(this.#fd, this.#rest, 0, this.#pieceLength())
  }

  #writePiece(): void {
    this.#inFlight = this.#pieceLength()
    write(this.#fd, this.#rest, 0, this.#inFlight, null, (error, written) => this.#wrote(error, written))
  }

  /** As many whole lines as one write may hold; one at least. */
  #pieceLength(): number {
    const rest = this.#rest
    if (rest.length <= this.#maxWriteBytes) return rest.length
    const fits = rest.lastIndexOf(NEWLINE, this.#maxWriteBytes - 1)
    return fits >= 0 ? fits + 1 : rest.indexOf(NEWLINE) + 1 || rest.length
  }

  #wrote(error: NodeJS.ErrnoException | null, written: number): void {
    this.#inFlight = 0
    if (error !== null) return this.#failed(error)
    this.#advance(written)
    if (this.#rest.length > 0) this.#writePiece()
    else this.#wroteAll()
  }

  #wroteAll(): void {
    this.#isWriting = false
    if (this.#length >= BATCH_LENGTH) this.#begin()
    else if (this.#lines.length > 0) this.#timer ??= setTimeout(() => this.#due(), BATCH_MS).unref()
  }

  #advance(written: number): void {
    this.#rest = this.#rest.subarray(written)
    this.#retryMs = FIRST_RETRY_MS
  }

  #nextRetryMs(): number {
    const now = this.#retryMs
    this.#retryMs = Math.min(2 * now, MAX_RETRY_MS)
    return now
  }

  #failed(error: unknown): void {
    if (!OVER.has(codeOf(error))) {
      setTimeout(() => this.#writeOn(), this.#nextRetryMs()).unref()
      return
    }
    this.#isOver = true
    this.#rest = NOTHING
    this.#lines = []
  }
}

/** The same pipe, on which a write that would have to wait fails instead; undefined: it is none, or cannot be had so. */
function impatientPipe(fd: number): number | undefined {
  try {
    return fstatSync(fd).isFIFO()
      ? openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK)
      : undefined
  } catch {
    return undefined
  }
}
