import { useState } from 'preact/hooks'
import type { Channel, Model } from '../../../../api/contract/admin-catalog.ts'
import { call } from '../../../api/client.ts'
import { useForm, useRevision } from '../../../api/form-state.ts'
import { useQuery } from '../../../api/query.ts'
import { modelTexts, readModelTexts, routeTexts } from '../../../format/model-texts.ts'
import { priceTexts } from '../../../format/price-texts.ts'
import { Dialog } from '../../../parts/dialog.tsx'
import { CheckField, TextField } from '../../../parts/field.tsx'
import { Form } from '../../../parts/form.tsx'
import { Answer } from '../../../parts/page.tsx'
import { NoChannel } from '../channels/no-channel.tsx'
import { Routes } from './model-routes.tsx'
import { PriceFields } from './price-fields.tsx'

interface ModelDialogProps {
  /** The one to change; absent to add one. */
  model?: Model
  onClose(): void
  onDone(model: Model): void
}

/** Everything about a model but its prices' history. */
export function ModelDialog(props: ModelDialogProps) {
  const { model, onClose } = props
  const channels = useQuery('channels', signal => call('GET /api/admin/channels', {}, signal))
  return (
    <Dialog
      title={model === undefined ? 'Add a model' : `Edit ${model.id}`}
      shape="dialog wide"
      onClose={onClose}
    >
      <Answer query={channels} what="the channels">
        {({ items }) => (items.length === 0 ? <NoChannel /> : <ModelForm {...props} channels={items} />)}
      </Answer>
    </Dialog>
  )
}

function ModelForm({
  model,
  channels,
  onClose,
  onDone,
}: ModelDialogProps & { channels: readonly Channel[] }) {
  const [routes, setRoutes] = useState(() => routeTexts(model, channels))
  const [prices, setPrices] = useState(() => priceTexts(model?.prices ?? null))
  const revision = useRevision(model)
  const save = useForm(modelTexts(model), async texts => {
    const fields = readModelTexts(texts, routes, prices, model)
    const saved =
      model === undefined
        ? await call('POST /api/admin/models', { body: { id: texts.id.trim(), ...fields } })
        : await call('PUT /api/admin/models/:id', {
            params: { id: model.id },
            body: { ...fields, revision },
          })
    onDone(saved.model)
  })
  const { field } = save
  return (
    <Form action={save} verb={model === undefined ? 'Add model' : 'Save model'} onCancel={onClose}>
      <div class="columns">
        {model === undefined ? (
          <TextField
            label="Id"
            autoFocus
            spellcheck={false}
            hint="What callers send; matched exactly."
            {...field('id')}
          />
        ) : null}
        <TextField label="Display name" optional {...field('display_name')} />
        <TextField
          label="Aliases"
          optional
          spellcheck={false}
          hint="Other names, separated by commas."
          {...field('aliases')}
        />
      </div>
      <Routes routes={routes} channels={channels} onValue={setRoutes} error={save.errorOf('channels')} />
      <PriceFields value={prices} onValue={setPrices} errorOf={save.errorOf} />
      <details>
        <summary>Limits and who may use it</summary>
        <div class="stack">
          <div class="columns">
            <TextField label="Context tokens" optional inputMode="numeric" {...field('context_tokens')} />
            <TextField
              label="Most output tokens"
              optional
              inputMode="numeric"
              {...field('max_output_tokens')}
            />
            <TextField label="Made by" optional {...field('owned_by')} />
          </div>
          <CheckField
            label="Every account may use it"
            hint="Otherwise only accounts that were given it."
            {...field('enabled_by_default')}
          />
        </div>
      </details>
    </Form>
  )
}
