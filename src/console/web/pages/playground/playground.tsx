import type { ReachedModel } from '../../../api/contract/models.ts'
import { call } from '../../api/client.ts'
import { useForm } from '../../api/form-state.ts'
import { useQuery } from '../../api/query.ts'
import { optionalCount, typedText } from '../../format/typed.ts'
import { Button } from '../../parts/button.tsx'
import { CheckField, type Option, SegmentsField, TextArea, TextField } from '../../parts/field.tsx'
import { useWrongField } from '../../parts/form.tsx'
import { Answer, Page } from '../../parts/page.tsx'
import type { PlaygroundSurface } from '../../stream/answer-text.ts'
import { requestBody } from '../../stream/request-body.ts'
import { isRunning, useRun } from '../../stream/run.ts'
import { OneModel } from '../models/model-choice.tsx'
import { NoModels } from '../models/models.tsx'
import { AnswerOf } from './playground-answer.tsx'

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

/** A prompt for any model on any surface, with its answer and the events it came in. */
export function PlaygroundPage() {
  const models = useQuery('models', signal => call('GET /api/models', {}, signal))
  return (
    <Page
      title="Playground"
      lead="Ask a model on any of the four surfaces, and see the events as your program would. It is charged like any request."
    >
      <Answer query={models} what="models">
        {({ items }) => {
          const usable = items.filter(model => model.prices !== null && surfacesOf(model).length > 0)
          return usable.length === 0 ? (
            <NoModels title="There is no model to ask" />
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

/** What is asked, as it is typed. */
interface Question {
  modelId: string
  surface: PlaygroundSurface
  message: string
  system: string
  maxTokens: string
  isStrict: boolean
}

const NEW_QUESTION: Question = {
  modelId: '',
  surface: 'chat',
  message: 'Say hello in five languages.',
  system: '',
  maxTokens: '',
  isStrict: false,
}

function Playground({ models }: { models: readonly ReachedModel[] }) {
  const { run, start, stop } = useRun()
  const isBusy = isRunning(run)
  const ask = useForm<Question>(NEW_QUESTION, async ({ message, system, maxTokens, isStrict }) => {
    if (model === undefined || surface === undefined || isBusy) return
    typedText(message, 'message', 'What is asked?')
    const prompt = {
      model: model.id,
      system: system.trim(),
      message,
      maxTokens: optionalCount(maxTokens, 'maxTokens'),
    }
    start(surface.value, {
      path: surface.path(model.id),
      body: requestBody(surface.value, prompt),
      strict: isStrict,
    })
  })
  const { texts: question, change, field } = ask
  const model = models.find(({ id }) => id === question.modelId) ?? models[0]
  const surfaces = model === undefined ? [] : surfacesOf(model)
  const surface = surfaces.find(({ value }) => value === question.surface) ?? surfaces[0]
  return (
    <div class="playground">
      <form
        ref={useWrongField(ask)}
        class="card"
        aria-label="Request"
        noValidate
        onSubmit={event => {
          event.preventDefault()
          void ask.run()
        }}
      >
        <OneModel
          label="Model"
          models={models.map(({ id }) => id)}
          {...field('modelId')}
          value={model?.id ?? ''}
        />
        <SegmentsField
          label="Surface"
          value={surface?.value ?? 'chat'}
          options={surfaces}
          onValue={value => change({ surface: value })}
        />
        <TextArea
          label="Message"
          rows={4}
          {...field('message')}
          hint="Ctrl and Enter sends it."
          onKeyDown={event => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void ask.run()
          }}
        />
        <details>
          <summary>More</summary>
          <div class="stack">
            <TextArea label="System prompt" optional rows={2} {...field('system')} />
            <TextField label="Most output tokens" optional inputMode="numeric" {...field('maxTokens')} />
            <CheckField
              label="Strict"
              hint="What the model's upstream cannot say is an error instead of being left out."
              {...field('isStrict')}
            />
          </div>
        </details>
        <div class="dialog-foot">
          {isBusy ? (
            <Button
              onClick={({ currentTarget }) => {
                stop()
                // This one goes with what it stops.
                currentTarget.form?.querySelector<HTMLElement>('[type="submit"]')?.focus()
              }}
            >
              Stop
            </Button>
          ) : null}
          <Button type="submit" kind="primary" busy={isBusy}>
            Send
          </Button>
        </div>
      </form>
      <AnswerOf run={run} />
    </div>
  )
}
