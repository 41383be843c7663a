import { Stream } from '@elysiajs/stream'
import type { Clock } from '@/clock/clock.ts'

/** Where the events of one reader go. */
export interface EventSink {
  /** One event. A reader who does not read loses the oldest that wait, and is told how many. */
  send(event: string, data: object): void
  /** Ends the stream. */
  end(): void
}

/** Events that may wait for one reader. */
const MAX_WAITING = 500
const HEARTBEAT_MS = 15_000

/**
 * A stream of server-sent events. `open` is called when it begins and returns what ends it. The library's Stream is
 * handed nothing but a ReadableStream of framed bytes: its other forms have no backpressure, frame wrongly, or end the
 * process when a reader leaves.
 */
export function eventStream(
  clock: Clock,
  signal: AbortSignal,
  open: (sink: EventSink) => () => void,
): Response {
  return new Response(new Stream(framed(clock, signal, open)).value, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    },
  })
}

function framed(
  clock: Clock,
  signal: AbortSignal,
  open: (sink: EventSink) => () => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const waiting: string[] = []
  let lost = 0
  let isOpen = true
  let close = () => {}
  let wake = () => {}
  const push = (text: string) => {
    waiting.push(text)
    if (waiting.length > MAX_WAITING) lost += waiting.splice(0, waiting.length - MAX_WAITING).length
    wake()
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const end = () => {
          close()
          try {
            controller.close()
          } catch {
            // The reader has cancelled it already.
          }
        }
        const unsubscribe = open({
          send: (event, data) => push(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
          end,
        })
        const stopHeartbeat = clock.every(HEARTBEAT_MS, () => push(': still here\n\n'))
        close = () => {
          if (!isOpen) return
          isOpen = false
          unsubscribe()
          stopHeartbeat()
          wake()
        }
        signal.addEventListener('abort', end)
        push(': here\n\n')
      },
      async pull(controller) {
        if (waiting.length === 0) await new Promise<void>(resolve => (wake = resolve))
        wake = () => {}
        const gap = lost === 0 ? '' : `event: lost\ndata: ${JSON.stringify({ events: lost })}\n\n`
        lost = 0
        const text = gap + waiting.splice(0).join('')
        if (text !== '' && isOpen && !signal.aborted) controller.enqueue(encoder.encode(text))
      },
      cancel: () => close(),
    },
    { highWaterMark: 1 },
  )
}
