import { useState } from 'preact/hooks'
import type { Model } from '../../../../api/contract/admin-catalog.ts'
import type { ConsoleOutput } from '../../../../api/contract/api.ts'
import type { PriceSet, Prices } from '../../../../api/contract/words.ts'
import { useAction } from '../../../api/action.ts'
import { call } from '../../../api/client.ts'
import { wrong } from '../../../api/failure.ts'
import { serverNow } from '../../../api/server-time.ts'
import { addMoney } from '../../../format/money.ts'
import { counted } from '../../../format/number.ts'
import { forceInWords, typedFutureDay, withChange, withoutChange } from '../../../format/price-changes.ts'
import { priceTexts, readPriceTexts } from '../../../format/price-texts.ts'
import { Confirm } from '../../../parts/confirm.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { TextField } from '../../../parts/field.tsx'
import { Form } from '../../../parts/form.tsx'
import { Money } from '../../../parts/money.tsx'
import { Notice } from '../../../parts/notice.tsx'
import { FullPrices } from '../../models/price-list.tsx'
import { PriceFields } from './price-fields.tsx'

type Preview = ConsoleOutput<'POST /api/admin/models/:id/preview'>

/** New prices, at once or from a day on: first what they would change, then the change. */
export function PriceDialog({
  model: latest,
  onClose,
  onDone,
}: {
  model: Model
  onClose(): void
  /** `said`: what was done. */
  onDone(said: string): void
}) {
  // As it was when the dialog opened: a change is made from that.
  const [model] = useState(latest)
  const [texts, setTexts] = useState(() => priceTexts(model.prices))
  const [day, setDay] = useState('')
  const [preview, setPreview] = useState<Preview>()
  const look = useAction(async () => {
    const from = typedFutureDay(day, 'from', new Date(serverNow()))
    const read = readPriceTexts({ ...texts, changes: [] })
    if ('field' in read) wrong(`prices.${read.field}`, read.message)
    if (from !== undefined && read.prices === null)
      wrong('from', 'A change to no price at all: remove the model.')
    setPreview(
      await call('POST /api/admin/models/:id/preview', {
        params: { id: model.id },
        body: { prices: read.prices },
      }),
    )
  })
  const save = useAction(async () => {
    if (preview === undefined) return
    await call('PUT /api/admin/models/:id', {
      params: { id: model.id },
      body: { ...unchanged(model), prices: planned(model.prices, preview.after, day) },
    })
    onDone(day === '' ? 'The prices are changed' : 'The change is planned')
  })
  if (preview !== undefined) {
    return (
      <Dialog
        title={day === '' ? 'Change the prices?' : `Change the prices from ${day} on?`}
        shape="dialog wide"
        onClose={onClose}
      >
        <PreviewOf preview={preview} />
        <Form
          action={save}
          verb={day === '' ? 'Change prices' : 'Plan the change'}
          onCancel={() => setPreview(undefined)}
        >
          <p class="soft">{forceInWords(model.prices, preview.after, day)}</p>
        </Form>
      </Dialog>
    )
  }
  return (
    <Dialog title={`Prices of ${model.id}`} shape="dialog wide" onClose={onClose}>
      <Form action={look} verb="Preview" onCancel={onClose}>
        <PriceFields value={texts} onValue={setTexts} errorOf={look.errorOf} />
        {model.prices === null ? null : (
          <TextField
            label="From"
            optional
            type="date"
            hint="Empty: at once. A day to come: all of these prices together, from 00:00 UTC of it."
            value={day}
            onValue={setDay}
            error={look.errorOf('from')}
          />
        )}
      </Form>
    </Dialog>
  )
}

/** Takes a planned change back: what holds before its day goes on. */
export function TakeBack({
  model,
  prices,
  from,
  onClose,
  onDone,
}: {
  model: Model
  prices: Prices
  from: string
  onClose(): void
  onDone(): void
}) {
  return (
    <Confirm
      title={`Take back the change of ${from}?`}
      verb="Take back"
      danger
      onClose={onClose}
      action={async () => {
        await call('PUT /api/admin/models/:id', {
          params: { id: model.id },
          body: { ...unchanged(model), prices: withoutChange(prices, from) },
        })
        onDone()
      }}
    >
      <p>The prices that hold before that day go on.</p>
    </Confirm>
  )
}

/** The prices to be stored: `after` from a day on, or at once with the changes to come as they are. */
function planned(prices: Prices | null, after: PriceSet | null, day: string): Prices | null {
  if (after === null || prices === null) return after
  if (day !== '') return withChange(prices, { from: day, ...after })
  return prices.changes === undefined ? after : { ...after, changes: prices.changes }
}

function PreviewOf({ preview }: { preview: Preview }) {
  const difference = addMoney([preview.cost_after, negated(preview.cost_before)])
  return (
    <>
      {preview.jumps.length === 0 ? null : (
        <Notice kind="warn">
          <span>These change by more than a factor of two. Is a decimal point where it should be?</span>
          <ul class="stack tight">
            {preview.jumps.map(jump => (
              <li key={jump.rate}>
                {jump.rate.replaceAll('_', ' ')}: {jump.from} to {jump.to}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <div class="columns">
        <section class="stack tight">
          <h3>Now</h3>
          {preview.before === null ? <p class="soft">No price</p> : <FullPrices prices={preview.before} />}
        </section>
        <section class="stack tight">
          <h3>Then</h3>
          {preview.after === null ? (
            <p class="soft">No price: every call is refused</p>
          ) : (
            <FullPrices prices={preview.after} />
          )}
        </section>
      </div>
      {preview.requests === 0 ? (
        <p>It had no requests in the last 30 days to compare by.</p>
      ) : (
        <p>
          {counted(preview.requests, 'request')} of the last 30 days cost{' '}
          <Money amount={preview.cost_before} /> and would have cost <Money amount={preview.cost_after} />:{' '}
          <Money amount={difference} style="signed" />.
        </p>
      )}
    </>
  )
}

function negated(amount: string): string {
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`
}

/** Everything else about a model, as replacing it wants it. */
function unchanged(model: Model) {
  const { aliases, display_name, owned_by, channels, surfaces, enabled_by_default } = model
  const { context_tokens, max_output_tokens, revision } = model
  return {
    aliases,
    display_name,
    owned_by,
    channels,
    surfaces,
    enabled_by_default,
    context_tokens,
    max_output_tokens,
    revision,
  }
}
