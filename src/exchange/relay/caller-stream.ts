/** What may wait in the process for a slow reader before the upstream is no longer read. */
const BUFFER_BYTES = 64 * 1024

/** Both are the same objects for all streams. */
const ONE_READ: QueuingStrategy<Uint8Array> = { highWaterMark: 1 }
const BUFFER: QueuingStrategy<Uint8Array> = {
  highWaterMark: BUFFER_BYTES,
  size: chunk => chunk?.byteLength ?? 0,
}

/**
 * The body of an answer that flows: one TransformStream, which the caller's socket reads. While there is room, output
 * goes straight to its readable side. A read of the upstream that comes when there is none waits in the writable side,
 * which has it taken once there is: the stream's own backpressure, without a write and its promises for every read.
 */
export class CallerStream {
  readonly readable: ReadableStream<Uint8Array>
  readonly #writable: WritableStream<Uint8Array>
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined
  #controller: TransformStreamDefaultController<Uint8Array> | undefined

  /**
   * @param take is given each read that had to wait, when there is room
   * @param cancelled is called when the caller's socket is gone
   */
  constructor(take: (read: Uint8Array) => void, cancelled: () => void) {
    const transform = new TransformStream<Uint8Array, Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        transform: take,
        // Of the standard and of Bun, and not yet of the types.
        ...{ cancel: cancelled },
      },
      ONE_READ,
      BUFFER,
    )
    this.readable = transform.readable
    this.#writable = transform.writable
  }

  /** Whether the caller takes more: the socket, and what may wait for it. False once it is broken, too. */
  get hasRoom(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0
  }

  get isBroken(): boolean {
    return this.#controller?.desiredSize === null
  }

  /** Has a read taken once there is room. Fails if the stream breaks before that. */
  whenRoom(read: Uint8Array): Promise<void> {
    this.#writer ??= this.#writable.getWriter()
    return this.#writer.write(read)
  }

  /** Writes output, whether there is room or not; false if the caller's side was cancelled. */
  write(output: Uint8Array): boolean {
    try {
      this.#controller?.enqueue(output)
      return true
    } catch {
      return false
    }
  }

  /** The clean end, behind what was written. */
  end(): void {
    this.#controller?.terminate()
  }

  /** Breaks the caller's connection. Bun does so whatever the reason is, and prints it unless it is null. */
  break(): void {
    this.#controller?.error(null)
  }

  /** Waits until the caller's socket took what was written, for at most a second. A matter of sockets, not of time. */
  async untilTaken(): Promise<void> {
    for (let looks = 0; looks < 100; looks += 1) {
      await Bun.sleep(10)
      if ((this.#controller?.desiredSize ?? BUFFER_BYTES) >= BUFFER_BYTES) return
    }
  }
}
