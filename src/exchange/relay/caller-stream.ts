/** How much output may wait for a slow caller before the upstream is no longer read. */
const BUFFER_BYTES = 64 * 1024

/** Both are the same objects for all streams. */
const ONE_READ: QueuingStrategy<Uint8Array> = { highWaterMark: 1 }
const BUFFER: QueuingStrategy<Uint8Array> = {
  highWaterMark: BUFFER_BYTES,
  size: chunk => chunk?.byteLength ?? 0,
}

/** Where output goes at once. Whoever writes keeps it: this class is one more place that is cold when the next event comes. */
export type CallerOutput = TransformStreamDefaultController<Uint8Array>

/**
 * The body of a streamed answer: one TransformStream, which the caller's socket reads. While there is room, output goes
 * straight to its readable side. A read of the upstream that comes when there is none is written into the writable side,
 * which passes it to `take` once there is. That is the stream's own backpressure, and only reads that must wait pay for a
 * write and its promises.
 */
export class CallerStream {
  readonly readable: ReadableStream<Uint8Array>
  readonly output: CallerOutput
  readonly #writable: WritableStream<Uint8Array>
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined

  /**
   * @param take is given each read that had to wait, when there is room
   * @param cancelled is called when the caller's socket is gone
   */
  constructor(take: (read: Uint8Array) => void, cancelled: () => void) {
    const outputs: CallerOutput[] = []
    const transform = new TransformStream<Uint8Array, Uint8Array>(
      {
        start: controller => {
          outputs.push(controller)
        },
        transform: take,
        // Of the standard and of Bun, and not yet of the types.
        ...{ cancel: cancelled },
      },
      ONE_READ,
      BUFFER,
    )
    const [output] = outputs
    if (output === undefined) throw new Error('a TransformStream starts when it is made')
    this.output = output
    this.readable = transform.readable
    this.#writable = transform.writable
  }

  /** Passes a read to `take` once there is room. Rejects if the stream breaks before that. */
  whenRoom(read: Uint8Array): Promise<void> {
    this.#writer ??= this.#writable.getWriter()
    return this.#writer.write(read)
  }

  /** The clean end, behind what was written. */
  end(): void {
    this.output.terminate()
  }

  /** Breaks the caller's connection. Bun does so whatever the reason is, and prints it unless it is null. */
  break(): void {
    this.output.error(null)
  }

  /** Waits until the caller's socket took what was written, for at most a second, and the caller may have read it. */
  async untilTaken(): Promise<void> {
    for (let looks = 0; looks < 100; looks += 1) {
      await Bun.sleep(10)
      if ((this.output.desiredSize ?? BUFFER_BYTES) >= BUFFER_BYTES) return untilRead()
    }
  }
}

/**
 * Gives a caller the time to read what was written last, before its connection is broken: Bun resets it, and the other
 * end forgets what it has not read by then. A matter of sockets, not of time.
 */
export function untilRead(): Promise<void> {
  return Bun.sleep(250)
}

/** Whether more output may be written now; false as well once the stream is broken. */
export function hasRoom(output: CallerOutput): boolean {
  return (output.desiredSize ?? 0) > 0
}

/** Writes output, whether there is room or not; false if the caller's side was cancelled. */
export function writeTo(output: CallerOutput, bytes: Uint8Array): boolean {
  try {
    output.enqueue(bytes)
    return true
  } catch {
    return false
  }
}
