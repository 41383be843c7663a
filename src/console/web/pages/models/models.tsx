import { useState } from 'preact/hooks'
import type { ReachedModel } from '../../../api/contract/models.ts'
import { call } from '../../api/client.ts'
import { useFirstOf, useQuery } from '../../api/query.ts'
import { compactNumber, counted } from '../../format/number.ts'
import { CopyButton } from '../../parts/copy.tsx'
import { TextField } from '../../parts/field.tsx'
import { Badge, Empty } from '../../parts/notice.tsx'
import { Answer, Page } from '../../parts/page.tsx'
import { MoreButton, useGoingOn } from '../../parts/table.tsx'
import { useMayAdminister } from '../../session.tsx'
import { FullPrices } from './price-list.tsx'

/** What the account reaches, where, and at which price. */
export function ModelsPage() {
  const models = useQuery('models', signal => call('GET /api/models', {}, signal))
  const [search, setSearch] = useState('')
  return (
    <Page title="Models" lead="What your account reaches, where each can be called, and what it costs.">
      <Answer query={models} what="models">
        {({ items }) =>
          items.length === 0 ? (
            <NoModels title="No models yet" />
          ) : (
            <Found items={items} search={search} onSearch={setSearch} />
          )
        }
      </Answer>
    </Page>
  )
}

/** In place of models while the account reaches none. */
export function NoModels({ title }: { title: string }) {
  if (!useMayAdminister()) {
    return <Empty title={title}>Your administrator decides which models your account reaches.</Empty>
  }
  const choose = (
    <a class="button primary" href="/admin/models?import=yes">
      Choose models
    </a>
  )
  return (
    <Empty title={title} action={choose}>
      Add a channel and choose models from the catalogue.
    </Empty>
  )
}

function Found({
  items,
  search,
  onSearch,
}: {
  items: readonly ReachedModel[]
  search: string
  onSearch(text: string): void
}) {
  const found = items.filter(model => matches(model, search))
  const { shown, more } = useFirstOf(found, search)
  const { list, onAsked } = useGoingOn<HTMLUListElement>(more, shown.length)
  return (
    <>
      <search class="filters" aria-label="Filter models">
        <TextField
          label="Search"
          type="search"
          placeholder="Name, vendor or alias"
          value={search}
          onValue={onSearch}
        />
        <span role="status" class="soft">
          {counted(found.length, 'model')}
        </span>
      </search>
      <ul ref={list} class="columns wide">
        {shown.map(model => (
          <li key={model.id} class="card">
            <ModelCard model={model} />
          </li>
        ))}
      </ul>
      {more === undefined ? null : (
        <div class="more">
          <MoreButton more={more} onAsked={onAsked} />
        </div>
      )}
    </>
  )
}

function matches({ id, aliases, display_name, owned_by }: ReachedModel, search: string): boolean {
  const wanted = search.trim().toLowerCase()
  return [id, display_name, owned_by, ...aliases].some(text => text.toLowerCase().includes(wanted))
}

function ModelCard({ model }: { model: ReachedModel }) {
  return (
    <>
      <div class="stack tight">
        <h2>{model.display_name}</h2>
        <div class="row">
          <code>{model.id}</code> <CopyButton text={model.id} what={model.id} />
        </div>
        {model.aliases.length === 0 ? null : (
          <p class="soft">
            Also <code>{model.aliases.join(', ')}</code>
          </p>
        )}
        <p class="soft">
          {[
            model.owned_by,
            model.context_tokens === null ? '' : `${compactNumber(model.context_tokens)} tokens of context`,
            model.max_output_tokens === null ? '' : `${compactNumber(model.max_output_tokens)} of output`,
          ]
            .filter(Boolean)
            .join(' · ')}
        </p>
        <div class="tags">
          {model.surfaces.map(surface => (
            <Badge key={surface} kind="plain">
              {surface}
            </Badge>
          ))}
        </div>
      </div>
      {model.prices === null ? (
        <p class="soft">It has no price and cannot be called yet.</p>
      ) : (
        <FullPrices prices={model.prices} />
      )}
      {model.prices?.changes?.map(change => (
        <section key={change.from} class="stack tight">
          <h3>From {change.from}, 00:00 UTC</h3>
          <FullPrices prices={change} />
        </section>
      ))}
    </>
  )
}
