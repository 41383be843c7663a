import { useState } from 'preact/hooks'
import type { ConsoleOutput } from '../../../api/contract/api.ts'
import type { ReachedModel } from '../../../api/contract/models.ts'
import { call } from '../../api/client.ts'
import { wrong } from '../../api/failure.ts'
import { useForm, useOnce } from '../../api/form-state.ts'
import { type Query, useQuery } from '../../api/query.ts'
import { NO_LIMITS, readLimits } from '../../format/limit-texts.ts'
import { readList } from '../../format/number.ts'
import { readLocalTime } from '../../format/time.ts'
import { optionalAmount } from '../../format/typed.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { Dialog, DialogEnd } from '../../parts/dialog.tsx'
import { CheckField, type Option, SelectField, TextArea, TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Answer } from '../../parts/page.tsx'
import { useCurrency } from '../../session.tsx'
import { ModelChoice } from '../models/model-choice.tsx'
import { Snippets } from './key-use.tsx'
import { LimitFieldsOf } from './limit-fields.tsx'

type Created = ConsoleOutput<'POST /api/keys'>
type Period = 'day' | 'week' | 'month' | 'total'

const PERIODS: readonly Option<Period>[] = [
  { value: 'month', label: 'a month' },
  { value: 'week', label: 'a week' },
  { value: 'day', label: 'a day' },
  { value: 'total', label: 'in all' },
]

const NEW_KEY = {
  name: '',
  models: [] as readonly string[],
  expires_at: '',
  cap: '',
  period: 'month' as Period,
  allow_ips: '',
  limits: NO_LIMITS,
}

/** Makes a key, then shows it this once with what to paste where. */
export function CreateKey({ onClose }: { onClose(): void }) {
  const models = useQuery('models', signal => call('GET /api/models', {}, signal))
  const [created, setCreated] = useState<Created>()
  if (created !== undefined) {
    return (
      <Dialog title="Your new key" shape="dialog wide" held="shown-once" onClose={onClose}>
        <NewKey created={created} models={models.data?.items ?? []} onClose={onClose} />
      </Dialog>
    )
  }
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <KeyForm models={models} onCancel={onClose} onCreated={setCreated} />
    </Dialog>
  )
}

function KeyForm({
  models,
  onCancel,
  onCreated,
}: {
  models: Query<ConsoleOutput<'GET /api/models'>>
  onCancel(): void
  onCreated(created: Created): void
}) {
  const currency = useCurrency()
  const once = useOnce()
  const [isNarrowed, setNarrowed] = useState(false)
  const create = useForm(NEW_KEY, async texts => {
    const amount = optionalAmount(texts.cap, 'cap')
    if (isNarrowed && texts.models.length === 0)
      wrong('models', 'Choose at least one model, or allow all of them.')
    onCreated(
      await call('POST /api/keys', {
        body: {
          name: texts.name.trim(),
          limits: readLimits(texts.limits, 'limits.'),
          models: isNarrowed ? [...texts.models] : undefined,
          expires_at: readLocalTime(texts.expires_at),
          cap: amount === undefined ? undefined : { amount, period: texts.period },
          allow_ips: texts.allow_ips.trim() === '' ? undefined : readList(texts.allow_ips),
          once,
        },
      }),
    )
  })
  const { field } = create
  return (
    <Form action={create} verb="Create key" onCancel={onCancel}>
      <TextField
        label="Name"
        autoFocus
        placeholder="for example: laptop"
        hint="So that you know it again in the log."
        {...field('name')}
      />
      <details>
        <summary>Narrow what it may do</summary>
        <div class="stack">
          <CheckField label="Only some models" value={isNarrowed} onValue={setNarrowed} />
          {isNarrowed ? (
            <Answer query={models} what="models">
              {({ items }) => (
                <ModelChoice legend="Models" models={items.map(({ id }) => id)} {...field('models')} />
              )}
            </Answer>
          ) : null}
          <div class="columns">
            <TextField
              label={`Spending cap in ${currency}`}
              optional
              inputMode="decimal"
              placeholder="5.00"
              {...field('cap')}
            />
            <SelectField
              label="Cap is for"
              options={PERIODS}
              hint="By the calendar, in UTC."
              {...field('period')}
            />
          </div>
          <TextField
            label="Expires"
            optional
            type="datetime-local"
            hint="In your own time zone."
            {...field('expires_at')}
          />
          <TextArea
            label="Allowed addresses"
            optional
            rows={2}
            spellcheck={false}
            placeholder="203.0.113.7, 2001:db8::/32"
            hint="Addresses and ranges, separated by commas or lines."
            {...field('allow_ips')}
          />
          <LimitFieldsOf form={create} />
        </div>
      </details>
    </Form>
  )
}

interface NewKeyProps {
  created: Created
  models: readonly ReachedModel[]
  onClose(): void
}

function NewKey({ created, models, onClose }: NewKeyProps) {
  return (
    <>
      <Notice kind="warn">Copy it now: this is the only time it is shown.</Notice>
      <div class="secret">
        <code data-testid="secret">{created.secret}</code>
        <CopyButton text={created.secret} what="the key" />
      </div>
      <section class="stack tight">
        <h3>Use it</h3>
        <Snippets secret={created.secret} models={models} only={created.key.models} />
      </section>
      <DialogEnd onClose={onClose}>I have copied it</DialogEnd>
    </>
  )
}
