import type { Steering } from '@/simulator/script/steering.ts'

/** What a body reports while it is sent. */
export interface DeliveryObserver {
  sent(bytes: number): void
  ended(how: 'completed' | 'cancelled'): void
}

/** Waits; rejects at once when the signal fires. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

/** What is shared by all bodies of one simulator. */
export interface Delivery {
  sleep: Sleep
  observer: DeliveryObserver
  /** What the body of a cut answer fails with. */
  cutError: unknown
}

/** A reset overtakes bytes that the client has not read yet; this leaves it the time to see the events before the cut. */
const BEFORE_CUT_MS = 50
/** In so many steps: a process that stood still, in which the client is as well, reads between two of them. */
const BEFORE_CUT_STEPS = 10

/**
 * A body that is pulled: a frame is made when the reader has room for it, so a stalled reader costs nothing. Frames are
 * paced, split and cut as the model name asks. Leaving the generator (cancel, cut) runs its `return`.
 */
export function deliver(
  frames: Iterator<string | Uint8Array>,
  steering: Steering,
  clientGone: AbortSignal,
  delivery: Delivery,
): ReadableStream<Uint8Array> {
  const source = new PacedSource(frames, steering, clientGone, delivery)
  return new ReadableStream<Uint8Array>(source, { highWaterMark: 0 })
}

class PacedSource implements Bun.UnderlyingSource<Uint8Array> {
  readonly #frames: Iterator<string | Uint8Array>
  readonly #steering: Steering
  readonly #clientGone: AbortSignal
  readonly #delivery: Delivery
  /** Aborts what is being waited for. */
  readonly #left = new AbortController()
  /** What remains of the frame that was made last. */
  #unsent: Uint8Array = new Uint8Array()
  #framesMade = 0
  #ended = false

  constructor(
    frames: Iterator<string | Uint8Array>,
    steering: Steering,
    clientGone: AbortSignal,
    delivery: Delivery,
  ) {
    this.#frames = frames
    this.#steering = steering
    this.#clientGone = clientGone
    this.#delivery = delivery
    clientGone.addEventListener('abort', this.#leave)
  }

  pull(controller: ReadableStreamDefaultController<Uint8Array>): void | Promise<void> {
    const waiting = this.#pause()
    if (waiting === undefined) return this.#write(controller)
    // The wait fails only when the client has left, and then there is nobody to write to.
    return waiting.then(
      () => this.#write(controller),
      () => {},
    )
  }

  cancel(): void {
    this.#leave()
  }

  /** What the next write has to wait for; undefined, and no promise at all, when it has nothing to wait for. */
  #pause(): Promise<void> | undefined {
    const { paceMs, splitBytes } = this.#steering
    const { sleep } = this.#delivery
    if (this.#unsent.byteLength === 0) {
      if (this.#isCutHere) return this.#pauseBeforeCut()
      if (this.#framesMade > 0 && paceMs > 0) return sleep(paceMs, this.#left.signal)
    }
    return splitBytes === undefined ? undefined : nextTurn()
  }

  async #pauseBeforeCut(): Promise<void> {
    for (let step = 0; step < BEFORE_CUT_STEPS; step += 1) {
      await this.#delivery.sleep(BEFORE_CUT_MS / BEFORE_CUT_STEPS, this.#left.signal)
    }
  }

  #write(controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (this.#ended) return
    if (this.#unsent.byteLength === 0 && !this.#nextFrame(controller)) return
    const size = this.#steering.splitBytes ?? this.#unsent.byteLength
    const piece = this.#unsent.subarray(0, size)
    this.#unsent = this.#unsent.subarray(size)
    this.#delivery.observer.sent(piece.byteLength)
    controller.enqueue(piece)
  }

  /** Makes the next frame; false where there is none, and the body has ended or was cut. */
  #nextFrame(controller: ReadableStreamDefaultController<Uint8Array>): boolean {
    if (this.#isCutHere) {
      controller.error(this.#delivery.cutError)
      this.#end('completed')
      return false
    }
    const { done, value } = this.#frames.next()
    if (done === true) {
      controller.close()
      this.#end('completed')
      return false
    }
    this.#framesMade++
    this.#unsent = typeof value === 'string' ? Buffer.from(value) : value
    return true
  }

  get #isCutHere(): boolean {
    return this.#framesMade === this.#steering.cutAfter
  }

  readonly #leave = (): void => {
    this.#left.abort()
    this.#end('cancelled')
  }

  #end(how: 'completed' | 'cancelled'): void {
    if (this.#ended) return
    this.#ended = true
    this.#clientGone.removeEventListener('abort', this.#leave)
    this.#frames.return?.()
    this.#delivery.observer.ended(how)
  }
}

/** Lets the piece before leave the process on its own instead of being joined with the next. */
function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
