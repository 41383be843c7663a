import { Empty } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { RequestLog } from '../requests/request-log.tsx'
import { UsageCard } from '../requests/usage-card.tsx'

const EMPTY = (
  <Empty title="No requests yet">As soon as somebody calls this gateway, their requests appear here.</Empty>
)

/** Everybody's requests, and what they add up to. */
export function TrafficPage() {
  return (
    <Page title="All requests" lead="Every account's requests, live, and what they add up to.">
      <UsageCard
        at="/api/admin"
        groups={['model', 'account', 'channel', 'key', 'service_tier']}
        empty={EMPTY}
      />
      <RequestLog isForAll empty={EMPTY} />
    </Page>
  )
}
