import { useState } from 'preact/hooks'
import { useLocation, useRoute } from 'preact-iso'
import type { Model } from '../../../api/contract/admin-catalog.ts'
import type { ConsoleOutput } from '../../../api/contract/api.ts'
import { call } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { wholeNumber } from '../../format/number.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Badge, Notice } from '../../parts/notice.tsx'
import { Answer, Page } from '../../parts/page.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { When } from '../../parts/when.tsx'
import { useMayAdminister } from '../../session.tsx'
import { FullPrices, ShortPrices } from '../price-list.tsx'
import { ModelDialog } from './model-form.tsx'
import { PriceDialog, TakeBack } from './model-prices.tsx'

type Found = ConsoleOutput<'GET /api/admin/models/:id'>
type Version = Found['versions'][number]

/** One model: who serves it, what it costs, and what it cost before. */
export function ModelPage() {
  const id = useRoute().params['id'] ?? ''
  const { route } = useLocation()
  const mayAdminister = useMayAdminister()
  const found = useQuery(`model ${id}`, signal =>
    call('GET /api/admin/models/:id', { params: { id } }, signal),
  )
  const channels = useQuery('channels', signal => call('GET /api/admin/channels', {}, signal))
  const [dialog, setDialog] = useState<'prices' | 'edit' | 'remove' | { takeBack: string }>()
  const toast = useToast()
  const close = () => setDialog(undefined)
  const onDone = (said: string) => {
    toast(said)
    close()
    found.reload()
  }
  return (
    <Page
      title={id}
      lead={<a href="/admin/models">All models</a>}
      actions={
        mayAdminister && found.data !== undefined ? (
          <>
            <Button kind="primary" onClick={() => setDialog('prices')}>
              Change prices
            </Button>
            <Button onClick={() => setDialog('edit')}>Edit</Button>
            <Button kind="danger" onClick={() => setDialog('remove')}>
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
              <section class="card" aria-labelledby="prices-title">
                <div class="card-head">
                  <h2 id="prices-title">Prices in force</h2>
                  {model.price_version === null ? null : (
                    <Badge kind="plain">Version {model.price_version}</Badge>
                  )}
                </div>
                {model.prices === null ? (
                  <Notice kind="warn">It has no price, so every call of it is refused.</Notice>
                ) : (
                  <FullPrices prices={model.prices} />
                )}
                {model.prices?.changes?.map(change => (
                  <section key={change.from} class="stack tight">
                    <div class="card-head">
                      <h3>From {change.from}</h3>
                      {mayAdminister ? (
                        <Button onClick={() => setDialog({ takeBack: change.from })}>Take back</Button>
                      ) : null}
                    </div>
                    <FullPrices prices={change} />
                  </section>
                ))}
              </section>
            </div>
            <section class="stack" aria-labelledby="versions-title">
              <h2 id="versions-title">Versions</h2>
              <p class="soft">
                Every request is charged by the version in force when it came, and keeps it for good.
              </p>
              <Table
                label="Price versions"
                columns={versionColumns(model.price_version, Date.now())}
                rows={versions}
                keyOf={version => version.version}
              />
            </section>
            {dialog === 'prices' ? <PriceDialog model={model} onClose={close} onDone={onDone} /> : null}
            {typeof dialog === 'object' && model.prices !== null ? (
              <TakeBack
                model={model}
                prices={model.prices}
                from={dialog.takeBack}
                onClose={close}
                onDone={() => onDone('The change is taken back')}
              />
            ) : null}
            {dialog === 'edit' ? (
              <ModelDialog
                model={model}
                channels={channels}
                onClose={close}
                onDone={() => onDone('The model is changed')}
              />
            ) : null}
            {dialog === 'remove' ? (
              <Confirm
                title={`Remove ${id}?`}
                verb="Remove model"
                danger
                onClose={close}
                action={async () => {
                  await call('DELETE /api/admin/models/:id', { params: { id } })
                  toast('The model is removed')
                  route('/admin/models')
                }}
              >
                <p>Calls of it are refused from now on. Receipts and price versions stay.</p>
              </Confirm>
            ) : null}
          </>
        )}
      </Answer>
    </Page>
  )
}

function Facts({ model }: { model: Model }) {
  return (
    <section class="card" aria-labelledby="facts-title">
      <h2 id="facts-title">{model.display_name}</h2>
      <dl class="facts">
        <dt>Aliases</dt>
        <dd>{model.aliases.length === 0 ? <span class="soft">none</span> : model.aliases.join(', ')}</dd>
        <dt>Made by</dt>
        <dd>{model.owned_by}</dd>
        <dt>For</dt>
        <dd>{model.enabled_by_default ? 'everybody' : 'accounts that were given it'}</dd>
        <dt>Surfaces</dt>
        <dd>{model.surfaces === null ? 'all that its channels can serve' : model.surfaces.join(', ')}</dd>
        <dt>Context</dt>
        <dd>{model.context_tokens === null ? 'unknown' : `${wholeNumber(model.context_tokens)} tokens`}</dd>
        <dt>Most output</dt>
        <dd>
          {model.max_output_tokens === null ? 'unknown' : `${wholeNumber(model.max_output_tokens)} tokens`}
        </dd>
        <dt>Served by</dt>
        <dd>
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
        </dd>
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
    { label: 'Prices', cell: version => <ShortPrices prices={version.prices} /> },
    { label: 'Made by', cell: version => version.source },
  ]
}
