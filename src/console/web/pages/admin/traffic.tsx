import { addressOf, call } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { readCount } from '../../format/number.ts'
import { Empty } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import type { LineFilter } from '../../stream/line-filter.ts'
import { RequestLog } from '../request-log.tsx'
import { filterQuery } from '../requests.tsx'
import { UsageCard } from '../usage-card.tsx'
import { Refund } from './refund.tsx'

/** Everybody's requests, and what they add up to. */
export function TrafficPage() {
  const models = useQuery('models', signal => call('GET /api/admin/models', {}, signal))
  const channels = useQuery('channels', signal => call('GET /api/admin/channels', {}, signal))
  const empty = (
    <Empty title="No requests yet">As soon as somebody calls this gateway, their requests appear here.</Empty>
  )
  return (
    <Page title="All requests" lead="Every account's requests, live, and what they add up to.">
      <UsageCard
        groups={[
          { value: 'model', label: 'Model' },
          { value: 'account', label: 'Account' },
          { value: 'channel', label: 'Channel' },
          { value: 'key', label: 'Key' },
          { value: 'service_tier', label: 'Service tier' },
        ]}
        ask={(query, signal) => call('GET /api/admin/usage', { query }, signal)}
        csv={query => addressOf('GET /api/admin/usage.csv', { query })}
        empty={empty}
      />
      <RequestLog
        ask={ask}
        csv={filter => addressOf('GET /api/admin/requests.csv', { query: adminFilterQuery(filter) })}
        receipt={receipt}
        acts={(found, onDone) => <Refund receipt={found} onDone={onDone} />}
        liveAddress="/api/admin/live/requests"
        models={models.data?.items.map(({ id }) => id) ?? []}
        channels={channels.data?.items.map(({ name }) => name) ?? []}
        keys={[]}
        isForAll
        empty={empty}
      />
    </Page>
  )
}

function ask(filter: LineFilter, cursor: string | undefined, signal: AbortSignal) {
  return call('GET /api/admin/requests', { query: { ...adminFilterQuery(filter), cursor } }, signal)
}

function adminFilterQuery(filter: LineFilter) {
  return { ...filterQuery(filter), account_id: readCount(filter.account), channel: filter.channel }
}

function receipt(id: string, signal: AbortSignal) {
  return call('GET /api/admin/requests/:id', { params: { id } }, signal)
}
