import { useState } from 'preact/hooks'
import type { Model } from '../../../../api/contract/admin-catalog.ts'
import { useAddressState } from '../../../api/address.ts'
import { call } from '../../../api/client.ts'
import { fieldsOf } from '../../../api/form-state.ts'
import { useFirstOf, useQuery } from '../../../api/query.ts'
import { AddButton, Button } from '../../../parts/button.tsx'
import { TextField } from '../../../parts/field.tsx'
import { Badge, Empty, Notice } from '../../../parts/notice.tsx'
import { Answer, Page } from '../../../parts/page.tsx'
import { type Column, Table } from '../../../parts/table.tsx'
import { useToast } from '../../../parts/toast.tsx'
import { useMayAdminister } from '../../../session.tsx'
import { ShortPrices } from '../../models/price-list.tsx'
import { ImportDialog } from './catalogue-import.tsx'
import { ModelDialog } from './model-form.tsx'

const CLOSED = { import: '', vendor: '', channel: '', new: '', search: '' }
const NOTHING_OPEN = { import: '', vendor: '', channel: '', new: '' }

/** The models and their prices, by hand or from the catalogue. */
export function AdminModelsPage() {
  const mayAdminister = useMayAdminister()
  const { state: address, change, open } = useAddressState(CLOSED)
  const models = useQuery('models', signal => call('GET /api/admin/models', {}, signal))
  const [added, setAdded] = useState<readonly string[]>()
  const toast = useToast()
  const actions = mayAdminister ? (
    <>
      <AddButton onClick={() => open({ import: 'yes' })}>Choose from the catalogue</AddButton>
      <Button onClick={() => open({ new: 'yes' })}>Add by hand</Button>
    </>
  ) : undefined
  return (
    <Page
      title="Models and prices"
      lead="What callers may ask for, which channel serves it, and what it costs. A model without a price cannot be called."
      actions={actions}
    >
      {added === undefined || added.length === 0 ? null : (
        <Notice kind="good">
          <span>Added {added.join(', ')} at list price. Open a model to change what it costs.</span>
          <a class="button small primary" href="/keys?new=yes">
            Next: create a key
          </a>
        </Notice>
      )}
      <Answer query={models} what="models">
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No models yet" action={<div class="actions">{actions}</div>}>
              The catalogue has the vendors' current models at list price. Choose some for one of your
              channels.
            </Empty>
          ) : (
            <>
              <search class="filters" aria-label="Filter models">
                <TextField label="Search" type="search" {...fieldsOf(address, change)('search')} />
              </search>
              <Found models={items.filter(model => matches(model, address.search))} search={address.search} />
            </>
          )
        }
      </Answer>
      {address.import === '' || !mayAdminister ? null : (
        <ImportDialog
          wanted={{ vendor: address.vendor, channel: address.channel }}
          onClose={() => change(NOTHING_OPEN)}
          onDone={names => {
            change(NOTHING_OPEN)
            setAdded(names)
            models.reload()
          }}
        />
      )}
      {address.new === '' || !mayAdminister ? null : (
        <ModelDialog
          onClose={() => change(NOTHING_OPEN)}
          onDone={model => {
            change(NOTHING_OPEN)
            models.reload()
            toast(`${model.id} is added`)
          }}
        />
      )}
    </Page>
  )
}

function Found({ models, search }: { models: readonly Model[]; search: string }) {
  const { shown, more } = useFirstOf(models, search)
  return models.length === 0 ? (
    <Empty title="No model matches">Search for a part of a name, an alias, a vendor or a channel.</Empty>
  ) : (
    <Table label="Models" columns={COLUMNS} rows={shown} keyOf={model => model.id} more={more} />
  )
}

function matches({ id, aliases, display_name, owned_by, channels }: Model, search: string): boolean {
  const wanted = search.trim().toLowerCase()
  return [id, display_name, owned_by, ...aliases, ...channels.map(({ channel }) => channel)].some(text =>
    text.toLowerCase().includes(wanted),
  )
}

const COLUMNS: readonly Column<Model>[] = [
  {
    label: 'Model',
    kind: 'primary-cell',
    cell: model => (
      <>
        <a href={`/admin/models/${encodeURIComponent(model.id)}`}>{model.id}</a>
        {model.display_name === model.id ? null : (
          <>
            <br />
            <span class="soft">{model.display_name}</span>
          </>
        )}
      </>
    ),
  },
  { label: 'Price', cell: model => <ShortPrices prices={model.prices} /> },
  {
    label: 'Served by',
    cell: model =>
      model.channels.length === 0 ? (
        <Badge kind="bad">Nothing</Badge>
      ) : (
        [...new Set(model.channels.map(({ channel }) => channel))].join(', ')
      ),
  },
  {
    label: 'For',
    kind: 'nowrap',
    cell: model =>
      model.enabled_by_default ? (
        <span class="soft">Everybody</span>
      ) : (
        <Badge kind="info">Chosen accounts</Badge>
      ),
  },
]
