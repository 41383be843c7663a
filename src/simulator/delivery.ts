import type { Steering } from './steering.ts'

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

  /** Makes the next event; false when there is none. */
  const advance = async (): Promise<boolean> => {
    if (events === steering.cutAfter) {
      await sleep(BEFORE_CUT_MS, gone.signal)
      throw cutError
    }
    if (events > 0 && steering.paceMs > 0) await sleep(steering.paceMs, gone.signal)
    const { value, done } = frames.next()
    if (done === true) return false
    events++
    unsent = typeof value === 'string' ? Buffer.from(value) : value
    return true
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          while (unsent.byteLength === 0) {
            if (await advance()) continue
            controller.close()
            return finish('completed')
          }
          const size = steering.splitBytes ?? unsent.byteLength
          const piece = unsent.subarray(0, size)
          unsent = unsent.subarray(size)
          if (steering.splitBytes !== undefined) await nextTurn()
          observer.sent(piece.byteLength)
          controller.enqueue(piece)
        } catch (error) {
          if (gone.signal.aborted) return
          controller.error(error)
          finish('completed')
        }
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
