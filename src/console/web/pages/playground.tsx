import { useState } from 'preact/hooks'
import type { ReachedModel } from '../../api/contract/models.ts'
import { call } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { counted, readCount } from '../format/number.ts'
import { duration } from '../format/time.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { CheckField, type Option, SegmentsField, SelectField, TextArea, TextField } from '../parts/field.tsx'
import { Empty, FailureNotice } from '../parts/notice.tsx'
import { Answer, Page } from '../parts/page.tsx'
import { useMayAdminister } from '../session.tsx'
import type { PlaygroundSurface } from '../stream/answer-text.ts'
import type { RawEvent } from '../stream/event-reader.ts'
import { requestBody } from '../stream/request-body.ts'
import { type Run, useRun } from '../stream/run.ts'
import { ReceiptOf } from './receipt.tsx'

const SURFACES: readonly (Option<PlaygroundSurface> & { path(model: string): string })[] = [
  { value: 'chat', label: 'Chat', path: () => '/v1/chat/completions' },
  { value: 'responses', label: 'Responses', path: () => '/v1/responses' },
  { value: 'messages', label: 'Messages', path: () => '/v1/messages' },
  {
    value: 'gemini',
    label: 'Gemini',
    path: model => `/v1beta/models/${encodeURIComponent(model)}:streamGenerateContent?alt=sse`,
  },
]

export function PlaygroundPage() {
  const models = useQuery('models', signal => call('GET /api/models', {}, signal))
  const mayAdminister = useMayAdminister()
  return (
    <Page
      title="Playground"
      lead="Ask a model on any of the four surfaces, and see the events as your program would. It is charged like any request."
    >
      <Answer query={models} what="models">
        {({ items }) => {
          const usable = items.filter(model => model.prices !== null && surfacesOf(model).length > 0)
          return usable.length === 0 ? (
            <Empty
              title="There is no model to ask"
              action={
                mayAdminister ? (
                  <a class="button primary" href="/admin/models?import=yes">
                    Choose models
                  </a>
                ) : undefined
              }
            >
              {mayAdminister
                ? 'Add a channel and choose models first.'
                : 'Ask your administrator for a model.'}
            </Empty>
          ) : (
            <Playground models={usable} />
          )
        }}
      </Answer>
    </Page>
  )
}

function surfacesOf(model: ReachedModel) {
  return SURFACES.filter(({ value }) => model.surfaces.some(surface => surface === value))
}

/** How many events are kept on the page; a long answer has thousands. */
const SHOWN_EVENTS = 500

function Playground({ models }: { models: readonly ReachedModel[] }) {
  const [modelId, setModelId] = useState(models[0]?.id ?? '')
  const model = models.find(({ id }) => id === modelId) ?? models[0]
  const surfaces = model === undefined ? [] : surfacesOf(model)
  const [chosen, setChosen] = useState<PlaygroundSurface>('chat')
  const surface = surfaces.find(({ value }) => value === chosen) ?? surfaces[0]
  const [system, setSystem] = useState('')
  const [message, setMessage] = useState('Say hello in five languages.')
  const [maxTokens, setMaxTokens] = useState('')
  const [isStrict, setStrict] = useState(false)
  const { run, start, stop } = useRun()
  const isBusy = run.state === 'asking' || run.state === 'streaming'
  const [isReceiptOpen, setReceiptOpen] = useState(false)
  const send = () => {
    if (model === undefined || surface === undefined || isBusy || message.trim() === '') return
    const prompt = { model: model.id, system: system.trim(), message, maxTokens: readCount(maxTokens) }
    start(surface.value, {
      path: surface.path(model.id),
      body: requestBody(surface.value, prompt),
      strict: isStrict,
    })
  }
  return (
    <div class="playground">
      <form
        class="card"
        aria-label="Request"
        onSubmit={event => {
          event.preventDefault()
          send()
        }}
      >
        <SelectField
          label="Model"
          value={model?.id ?? ''}
          options={models.map(({ id }) => ({ value: id, label: id }))}
          onValue={setModelId}
        />
        <SegmentsField
          label="Surface"
          value={surface?.value ?? 'chat'}
          options={surfaces}
          onValue={setChosen}
        />
        <TextArea
          label="Message"
          rows={4}
          value={message}
          onValue={setMessage}
          hint="Ctrl and Enter sends it."
          onKeyDown={event => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send()
          }}
        />
        <details>
          <summary>More</summary>
          <div class="stack">
            <TextArea label="System prompt" optional rows={2} value={system} onValue={setSystem} />
            <TextField
              label="Most output tokens"
              optional
              inputMode="numeric"
              value={maxTokens}
              onValue={setMaxTokens}
            />
            <CheckField
              label="Strict"
              hint="What the model's upstream cannot say is an error instead of being left out."
              checked={isStrict}
              onValue={setStrict}
            />
          </div>
        </details>
        <div class="dialog-foot">
          {isBusy ? <Button onClick={stop}>Stop</Button> : null}
          <Button type="submit" kind="primary" busy={isBusy}>
            Send
          </Button>
        </div>
      </form>
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
        <Dialog title="Receipt" shape="drawer" onClose={() => setReceiptOpen(false)}>
          <ReceiptOf
            id={run.requestId}
            source={(id, signal) => call('GET /api/requests/:id', { params: { id } }, signal)}
          />
        </Dialog>
      ) : null}
    </div>
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
      return `${counted(run.events.length, 'event')} in ${duration(run.totalMs ?? 0)}${first}`
  }
}
