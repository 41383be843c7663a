import { useState } from 'preact/hooks'
import type { Channel, Model } from '../../../api/contract/admin-catalog.ts'
import { useAction } from '../../api/action.ts'
import { call } from '../../api/client.ts'
import { ApiFailure } from '../../api/failure.ts'
import { readCount, readList } from '../../format/number.ts'
import { type PriceTexts, priceTexts, readPriceTexts } from '../../format/price-texts.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { CheckField, SelectField, TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Empty } from '../../parts/notice.tsx'
import { PriceFields } from './price-fields.tsx'

export interface ModelDialogProps {
  /** The one to change; absent to add one. */
  model?: Model
  channels: readonly Channel[]
  onClose(): void
  onDone(model: Model): void
}

/** Everything about a model but its prices' history. */
export function ModelDialog(props: ModelDialogProps) {
  const { model, channels, onClose } = props
  return (
    <Dialog
      title={model === undefined ? 'Add a model' : `Edit ${model.id}`}
      shape="dialog wide"
      onClose={onClose}
    >
      {channels.length === 0 ? (
        <Empty
          title="Add a channel first"
          action={
            <a class="button primary" href="/admin/channels?new=yes">
              Add a channel
            </a>
          }
        >
          A model is served through a channel: a vendor and your key there.
        </Empty>
      ) : (
        <ModelForm {...props} />
      )}
    </Dialog>
  )
}

interface RouteTexts {
  channel: string
  model: string
  priority: string
  weight: string
}

interface ModelTexts {
  id: string
  displayName: string
  ownedBy: string
  aliases: string
  contextTokens: string
  maxOutputTokens: string
  isForEverybody: boolean
}

function textsOf(model: Model | undefined): ModelTexts {
  return {
    id: model?.id ?? '',
    displayName: model?.display_name ?? '',
    ownedBy: model?.owned_by ?? '',
    aliases: model?.aliases.join(', ') ?? '',
    contextTokens: model?.context_tokens?.toString() ?? '',
    maxOutputTokens: model?.max_output_tokens?.toString() ?? '',
    isForEverybody: model?.enabled_by_default ?? true,
  }
}

function routesOf(model: Model | undefined, channels: readonly Channel[]): RouteTexts[] {
  const first = { channel: channels[0]?.name ?? '', model: '', priority: '0', weight: '1' }
  return (
    model?.channels.map(route => ({
      channel: route.channel,
      model: route.model,
      priority: String(route.priority),
      weight: String(route.weight),
    })) ?? [first]
  )
}

const FIELDS = [
  'id',
  'display_name',
  'owned_by',
  'aliases',
  'context_tokens',
  'max_output_tokens',
  'channels',
  'prices',
]

function ModelForm({ model, channels, onClose, onDone }: ModelDialogProps) {
  const [texts, setTexts] = useState(() => textsOf(model))
  const [routes, setRoutes] = useState(() => routesOf(model, channels))
  const [prices, setPrices] = useState(() => priceTexts(model?.prices ?? null))
  const set = (changes: Partial<ModelTexts>) => setTexts(last => ({ ...last, ...changes }))
  const save = useAction(async () => {
    const fields = fieldsOf(texts, routes, prices, model)
    const saved =
      model === undefined
        ? await call('POST /api/admin/models', { body: { id: texts.id.trim(), ...fields } })
        : await call('PUT /api/admin/models/:id', { params: { id: model.id }, body: fields })
    onDone(saved.model)
  })
  return (
    <Form
      action={save}
      fields={FIELDS}
      verb={model === undefined ? 'Add model' : 'Save model'}
      onCancel={onClose}
    >
      <div class="columns">
        {model === undefined ? (
          <TextField
            label="Id"
            autoFocus
            spellcheck={false}
            hint="What callers send; matched exactly."
            value={texts.id}
            onValue={id => set({ id })}
            error={save.errorOf('id')}
          />
        ) : null}
        <TextField
          label="Display name"
          optional
          value={texts.displayName}
          onValue={displayName => set({ displayName })}
          error={save.errorOf('display_name')}
        />
        <TextField
          label="Aliases"
          optional
          spellcheck={false}
          hint="Other names, separated by commas."
          value={texts.aliases}
          onValue={aliases => set({ aliases })}
          error={save.errorOf('aliases')}
        />
      </div>
      <Routes routes={routes} channels={channels} onValue={setRoutes} error={save.errorOf('channels')} />
      <PriceFields value={prices} onValue={setPrices} errorOf={save.errorOf} />
      <details>
        <summary>Limits and who may use it</summary>
        <div class="stack">
          <div class="columns">
            <TextField
              label="Context tokens"
              optional
              inputMode="numeric"
              value={texts.contextTokens}
              onValue={contextTokens => set({ contextTokens })}
              error={save.errorOf('context_tokens')}
            />
            <TextField
              label="Most output tokens"
              optional
              inputMode="numeric"
              value={texts.maxOutputTokens}
              onValue={maxOutputTokens => set({ maxOutputTokens })}
              error={save.errorOf('max_output_tokens')}
            />
            <TextField
              label="Made by"
              optional
              value={texts.ownedBy}
              onValue={ownedBy => set({ ownedBy })}
              error={save.errorOf('owned_by')}
            />
          </div>
          <CheckField
            label="Every account may use it"
            hint="Otherwise only accounts that were given it."
            checked={texts.isForEverybody}
            onValue={isForEverybody => set({ isForEverybody })}
          />
        </div>
      </details>
    </Form>
  )
}

function Routes({
  routes,
  channels,
  onValue,
  error,
}: {
  routes: readonly RouteTexts[]
  channels: readonly Channel[]
  onValue(routes: RouteTexts[]): void
  error: string | undefined
}) {
  const set = (index: number, changes: Partial<RouteTexts>) =>
    onValue(routes.map((route, at) => (at === index ? { ...route, ...changes } : route)))
  return (
    <fieldset class="stack tight">
      <legend class="legend">Served by</legend>
      {routes.map((route, index) => (
        <div key={index} class="route-row">
          <SelectField
            label="Channel"
            value={route.channel}
            options={channels.map(({ name }) => ({ value: name, label: name }))}
            onValue={channel => set(index, { channel })}
          />
          <TextField
            label="Its name there"
            optional
            spellcheck={false}
            value={route.model}
            onValue={model => set(index, { model })}
          />
          <TextField
            label="Priority"
            inputMode="numeric"
            value={route.priority}
            onValue={priority => set(index, { priority })}
          />
          <TextField
            label="Weight"
            inputMode="numeric"
            value={route.weight}
            onValue={weight => set(index, { weight })}
          />
          {routes.length < 2 ? null : (
            <Button kind="quiet" onClick={() => onValue(routes.filter((_, at) => at !== index))}>
              Remove<span class="unseen"> route {index + 1}</span>
            </Button>
          )}
        </div>
      ))}
      {error === undefined ? null : <span class="error">{error}</span>}
      <div>
        <Button small onClick={() => onValue([...routes, ...routesOf(undefined, channels)])}>
          Add another channel
        </Button>
      </div>
    </fieldset>
  )
}

/** @throws ApiFailure naming the field that cannot be read */
function fieldsOf(
  texts: ModelTexts,
  routes: readonly RouteTexts[],
  prices: PriceTexts,
  model: Model | undefined,
) {
  if (model === undefined && texts.id.trim() === '') wrong('id', 'What do callers call it?')
  const read = readPriceTexts(prices)
  if ('field' in read) wrong(`prices.${read.field}`, read.message)
  return {
    aliases: readList(texts.aliases),
    ...(texts.displayName.trim() === '' ? {} : { display_name: texts.displayName.trim() }),
    ...(texts.ownedBy.trim() === '' ? {} : { owned_by: texts.ownedBy.trim() }),
    channels: routes.map(route => ({
      channel: route.channel,
      ...(route.model.trim() === '' ? {} : { model: route.model.trim() }),
      priority: integer(route.priority),
      weight: integer(route.weight),
    })),
    surfaces: model?.surfaces ?? null,
    enabled_by_default: texts.isForEverybody,
    context_tokens: optionalCount(texts.contextTokens, 'context_tokens'),
    max_output_tokens: optionalCount(texts.maxOutputTokens, 'max_output_tokens'),
    prices: read.prices,
  }
}

function integer(text: string): number {
  if (!/^-?\d{1,7}$/.test(text.trim())) wrong('channels', 'Priority and weight are whole numbers.')
  return Number(text)
}

function optionalCount(text: string, field: string): number | null {
  if (text.trim() === '') return null
  const count = readCount(text)
  if (count === undefined || count === 0) wrong(field, 'A whole number above 0, or nothing.')
  return count
}

function wrong(field: string, message: string): never {
  throw new ApiFailure(400, 'invalid_request', message, field)
}
