import { useLocation, useRoute } from 'preact-iso'
import type { Model } from '../../../../api/contract/admin-catalog.ts'
import type { ConsoleOutput } from '../../../../api/contract/api.ts'
import { call } from '../../../api/client.ts'
import { useOpened } from '../../../api/opened.ts'
import { namesNothing, useQuery } from '../../../api/query.ts'
import { serverNow } from '../../../api/server-time.ts'
import { wholeNumber } from '../../../format/number.ts'
import { Button } from '../../../parts/button.tsx'
import { Confirm } from '../../../parts/confirm.tsx'
import { Fact } from '../../../parts/facts.tsx'
import { Badge, Notice } from '../../../parts/notice.tsx'
import { Answer, Page } from '../../../parts/page.tsx'
import { type Column, Table } from '../../../parts/table.tsx'
import { useToast } from '../../../parts/toast.tsx'
import { When } from '../../../parts/when.tsx'
import { useMayAdminister } from '../../../session.tsx'
import { FoldedPrices, FullPrices } from '../../models/price-list.tsx'
import { NoSuch } from '../../nowhere.tsx'
import { ModelDialog } from './model-form.tsx'
import { PriceDialog, TakeBack } from './model-prices.tsx'

type Found = ConsoleOutput<'GET /api/admin/models/:id'>
type Version = Found['versions'][number]

/** What is open over the page. */
type Dialog = 'prices' | 'edit' | 'remove' | { takeBack: string }

/** One model: who serves it, what it costs, and what it cost before. */
export function ModelPage() {
  const id = useRoute().params['id'] ?? ''
  const mayAdminister = useMayAdminister()
  const found = useQuery(`model ${id}`, signal =>
    call('GET /api/admin/models/:id', { params: { id } }, signal),
  )
  const [dialog, open] = useOpened<Dialog>(found.busy)
  const toast = useToast()
  const close = () => open()
  const onDone = (said: string) => {
    toast(said)
    close()
    found.reload()
  }
  if (namesNothing(found)) {
    return (
      <NoSuch what="model" leadsTo="/admin/models" name="All models">
        No model is called <code>{id}</code>. It may have been removed, or have another name now.
      </NoSuch>
    )
  }
  return (
    <Page
      title={id}
      lead={
        <a class="alone" href="/admin/models">
          All models
        </a>
      }
      actions={
        mayAdminister && found.data !== undefined ? (
          <>
            <Button kind="primary" onClick={() => open('prices')}>
              Change prices
            </Button>
            <Button onClick={() => open('edit')}>Edit</Button>
            <Button kind="danger" onClick={() => open('remove')}>
              Remove
            </Button>
          </>
        ) : undefined
      }
    >
      <Answer query={found} what="the model">
        {({ model, versions }) => (
          <>
            <div class="columns wide">
              <Facts model={model} />
              <PricesInForce
                model={model}
                onTakeBack={mayAdminister ? day => open({ takeBack: day }) : undefined}
              />
            </div>
            <section class="stack" aria-labelledby="versions-title">
              <h2 id="versions-title">Versions</h2>
              <p class="soft">
                Every request is charged by the version in force when it came, and keeps it for good.
              </p>
              <Table
                label="Price versions"
                columns={versionColumns(model.price_version, serverNow())}
                rows={versions}
                keyOf={version => version.version}
              />
            </section>
            {dialog === undefined ? null : (
              <DialogOf dialog={dialog} model={model} onClose={close} onDone={onDone} />
            )}
          </>
        )}
      </Answer>
    </Page>
  )
}

function DialogOf({
  dialog,
  model,
  onClose,
  onDone,
}: {
  dialog: Dialog
  model: Model
  onClose(): void
  onDone(said: string): void
}) {
  if (dialog === 'prices') return <PriceDialog model={model} onClose={onClose} onDone={onDone} />
  if (dialog === 'edit') {
    return <ModelDialog model={model} onClose={onClose} onDone={() => onDone('The model is changed')} />
  }
  if (dialog === 'remove') return <RemoveModel id={model.id} onClose={onClose} />
  if (model.prices === null) return null
  return (
    <TakeBack
      model={model}
      prices={model.prices}
      from={dialog.takeBack}
      onClose={onClose}
      onDone={() => onDone('The change is taken back')}
    />
  )
}

function RemoveModel({ id, onClose }: { id: string; onClose(): void }) {
  const { route } = useLocation()
  const toast = useToast()
  return (
    <Confirm
      title={`Remove ${id}?`}
      verb="Remove model"
      danger
      onClose={onClose}
      action={async () => {
        await call('DELETE /api/admin/models/:id', { params: { id } })
        toast('The model is removed')
        route('/admin/models')
      }}
    >
      <p>Calls of it are refused from now on. Receipts and price versions stay.</p>
    </Confirm>
  )
}

/** What it costs now, and what is planned. */
function PricesInForce({
  model,
  onTakeBack,
}: {
  model: Model
  /** Of the change that begins on a day; undefined: nothing may be changed. */
  onTakeBack: ((day: string) => void) | undefined
}) {
  return (
    <section class="card" aria-labelledby="prices-title">
      <div class="card-head">
        <h2 id="prices-title">Prices in force</h2>
        {model.price_version === null ? null : <Badge kind="plain">Version {model.price_version}</Badge>}
      </div>
      {model.prices === null ? (
        <Notice kind="warn">It has no price, so every call of it is refused.</Notice>
      ) : (
        <FullPrices prices={model.prices} />
      )}
      {model.prices?.changes?.map(change => (
        <section key={change.from} class="stack tight">
          <div class="card-head">
            <h3>From {change.from}, 00:00 UTC</h3>
            {onTakeBack === undefined ? null : (
              <Button onClick={() => onTakeBack(change.from)}>Take back</Button>
            )}
          </div>
          <FullPrices prices={change} />
        </section>
      ))}
    </section>
  )
}

function Facts({ model }: { model: Model }) {
  return (
    <section class="card" aria-labelledby="facts-title">
      <h2 id="facts-title">{model.display_name}</h2>
      <dl class="facts">
        <Fact name="Aliases">
          {model.aliases.length === 0 ? <span class="soft">none</span> : model.aliases.join(', ')}
        </Fact>
        <Fact name="Made by">{model.owned_by}</Fact>
        <Fact name="For">{model.enabled_by_default ? 'everybody' : 'accounts that were given it'}</Fact>
        <Fact name="Surfaces">
          {model.surfaces === null ? 'all that its channels can serve' : model.surfaces.join(', ')}
        </Fact>
        <Fact name="Context">
          {model.context_tokens === null ? 'unknown' : `${wholeNumber(model.context_tokens)} tokens`}
        </Fact>
        <Fact name="Most output">
          {model.max_output_tokens === null ? 'unknown' : `${wholeNumber(model.max_output_tokens)} tokens`}
        </Fact>
        <Fact name="Served by">
          <ul class="stack tight">
            {model.channels.map(route => (
              <li key={`${route.channel} ${route.model}`}>
                {route.channel} as <code>{route.model}</code>{' '}
                <span class="soft">
                  priority {route.priority}, weight {route.weight}
                </span>
              </li>
            ))}
          </ul>
        </Fact>
      </dl>
    </section>
  )
}

function versionColumns(current: string | null, now: number): Column<Version>[] {
  return [
    {
      label: 'Version',
      kind: 'primary-cell',
      cell: version => (
        <>
          {version.version} {version.version === current ? <Badge kind="good">In force</Badge> : null}
          {Date.parse(version.valid_from) > now ? <Badge kind="plain">To come</Badge> : null}
        </>
      ),
    },
    { label: 'From', kind: 'nowrap', cell: version => <When iso={version.valid_from} /> },
    {
      label: 'Prices',
      cell: ({ prices, version }) => <FoldedPrices prices={prices} of={`version ${version}`} />,
    },
    { label: 'Made by', cell: version => version.source },
  ]
}
