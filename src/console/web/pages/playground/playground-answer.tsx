import { useState } from 'preact/hooks'
import { counted } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { Button } from '../../parts/button.tsx'
import { FailureNotice } from '../../parts/notice.tsx'
import type { RawEvent } from '../../stream/event-reader.ts'
import { isRunning, type Run } from '../../stream/run.ts'
import { ReceiptDrawer } from '../requests/receipt.tsx'

/** How many events are kept on the page; a long answer has thousands. */
const SHOWN_EVENTS = 500

/** The answer as it is written, the events that it comes in, and its receipt. */
export function AnswerOf({ run }: { run: Run }) {
  const [isReceiptOpen, setReceiptOpen] = useState(false)
  const isBusy = isRunning(run)
  return (
    <>
      <div class="stack">
        <FailureNotice failure={run.failure} />
        <div class="answers">
          <section class="stack tight" aria-labelledby="answer-title">
            <h2 id="answer-title">Answer</h2>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
            <div class="answer" tabIndex={0} data-testid="answer" aria-busy={isBusy}>
              {run.thinking === '' ? null : <div class="thinking">{run.thinking}</div>}
              {run.text}
              {run.state === 'idle' ? (
                <span class="soft">The answer appears here as it is written.</span>
              ) : null}
            </div>
          </section>
          <section class="stack tight" aria-labelledby="events-title">
            <h2 id="events-title">Events</h2>
            <RawEvents events={run.events} />
          </section>
        </div>
        <p role="status" class="soft">
          {statusText(run)}
        </p>
        {run.requestId === undefined || isBusy ? null : (
          <div>
            <Button onClick={() => setReceiptOpen(true)}>Show the receipt</Button>
          </div>
        )}
      </div>
      {isReceiptOpen && run.requestId !== undefined ? (
        <ReceiptDrawer id={run.requestId} onClose={() => setReceiptOpen(false)} />
      ) : null}
    </>
  )
}

function RawEvents({ events }: { events: readonly RawEvent[] }) {
  const shown = events.slice(-SHOWN_EVENTS)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="answer raw" tabIndex={0} data-testid="events" aria-label="Raw events">
      {events.length > shown.length ? (
        <div class="soft">{counted(events.length - shown.length, 'earlier event')} not shown</div>
      ) : null}
      {shown.map((event, index) => (
        <div key={`${events.length - shown.length + index}`}>
          {event.name === '' ? '' : `event: ${event.name}\n`}
          {`data: ${event.data}\n`}
        </div>
      ))}
      {events.length === 0 ? <span class="soft">Each event as it came from the gateway.</span> : null}
    </section>
  )
}

function statusText(run: Run): string {
  const first = run.firstMs === undefined ? '' : `, the first after ${duration(run.firstMs)}`
  switch (run.state) {
    case 'idle':
      return ''
    case 'asking':
      return 'Waiting for the first event'
    case 'streaming':
      return 'Streaming'
    case 'stopped':
      return 'Stopped by you; what was written until then is charged'
    case 'done':
      if (run.events.length === 0) return `Ended after ${duration(run.totalMs ?? 0)} without an event`
      return `${counted(run.events.length, 'event')} in ${duration(run.totalMs ?? 0)}${first}`
  }
}
