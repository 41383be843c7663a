import { addressOf, call } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { readCount } from '../format/number.ts'
import { Empty } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { type LineFilter, timeOf } from '../stream/line-filter.ts'
import { ENDS } from './end-state.tsx'
import { RequestLog } from './request-log.tsx'

/** A holder's requests. */
export function RequestsPage() {
  const models = useQuery('models', signal => call('GET /api/models', {}, signal))
  const keys = useQuery('keys', signal => call('GET /api/keys', { query: { limit: 200 } }, signal))
  return (
    <Page
      title="Requests"
      lead="Every request of your keys, with its receipt: what it used, what it cost and why."
    >
      <RequestLog
        ask={ask}
        csv={filter => addressOf('GET /api/requests.csv', { query: filterQuery(filter) })}
        receipt={receipt}
        liveAddress="/api/live/requests"
        models={models.data?.items.map(({ id }) => id) ?? []}
        keys={
          keys.data?.items.map(({ id, name, prefix }) => ({ value: String(id), label: name || prefix })) ?? []
        }
        empty={
          <Empty
            title="No requests yet"
            action={
              <div class="actions">
                <a class="button primary" href="/keys?new=yes">
                  Create a key
                </a>
                <a class="button" href="/playground">
                  Open the playground
                </a>
              </div>
            }
          >
            Create a key and paste one of its snippets, or try a model in the playground.
          </Empty>
        }
      />
    </Page>
  )
}

function ask(filter: LineFilter, cursor: string | undefined, signal: AbortSignal) {
  return call('GET /api/requests', { query: { ...filterQuery(filter), cursor } }, signal)
}

function receipt(id: string, signal: AbortSignal) {
  return call('GET /api/requests/:id', { params: { id } }, signal)
}

/** The conditions that are set, as the API names them. */
export function filterQuery(filter: LineFilter) {
  const { model, key, status, id, end } = filter
  const end_state = ENDS.find(({ value }) => value === end)?.value
  return { model, key_id: readCount(key), status, id, end_state, ...timeOf(filter, Date.now()) }
}
