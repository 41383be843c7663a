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

/**
 * A body that is pulled: a frame is made when the reader has room for it, so a stalled reader costs nothing. Frames are paced,
 * split and cut as the model name asks. Leaving the generator (cancel, cut) runs its `return`.
 */
export function deliver(
  frames: Iterator<string | Uint8Array>,
  steering: Steering,
  clientGone: AbortSignal,
  { sleep, observer, cutError }: Delivery,
): ReadableStream<Uint8Array> {
  const gone = new AbortController()
  let unsent: Uint8Array = new Uint8Array()
  let events = 0
  let ended = false
  const finish = (how: 'completed' | 'cancelled') => {
    if (ended) return
    ended = true
    clientGone.removeEventListener('abort', leave)
    frames.return?.()
    observer.ended(how)
  }
  const leave = () => {
    gone.abort()
    finish('cancelled')
  }
  clientGone.addEventListener('abort', leave)

  /** What the next write has to wait for; undefined, and no promise at all, when it has nothing to wait for. */
  const pause = (): Promise<void> | undefined => {
    if (unsent.byteLength === 0) {
      if (events === steering.cutAfter) return sleep(BEFORE_CUT_MS, gone.signal)
      if (events > 0 && steering.paceMs > 0) return sleep(steering.paceMs, gone.signal)
    }
    return steering.splitBytes === undefined ? undefined : nextTurn()
  }

  const write = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    if (ended) return
    if (unsent.byteLength === 0) {
      if (events === steering.cutAfter) {
        controller.error(cutError)
        return finish('completed')
      }
      const next = frames.next()
      if (next.done === true) {
        controller.close()
        return finish('completed')
      }
      events++
      unsent = typeof next.value === 'string' ? Buffer.from(next.value) : next.value
    }
    const size = steering.splitBytes ?? unsent.byteLength
    const piece = unsent.subarray(0, size)
    unsent = unsent.subarray(size)
    observer.sent(piece.byteLength)
    controller.enqueue(piece)
  }

  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const waiting = pause()
        if (waiting === undefined) return write(controller)
        // The wait fails only when the client has left, and then there is nobody to write to.
        return waiting.then(
          () => write(controller),
          () => {},
        )
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}

/** Lets the piece before leave the process on its own instead of being joined with the next. */
function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
