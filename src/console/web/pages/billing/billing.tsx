import { useEffect, useState } from 'preact/hooks'
import { useAddressState } from '../../api/address.ts'
import { addressOf, call } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { Money } from '../../parts/money.tsx'
import { Empty, Notice } from '../../parts/notice.tsx'
import { Answer, Page } from '../../parts/page.tsx'
import { useSession } from '../../session.tsx'
import { EntryList } from './entry-list.tsx'
import { Expiring } from './expiring.tsx'
import { LowCredit } from './low-credit.tsx'
import { Redeem } from './redeem.tsx'
import { StatementList } from './statement-list.tsx'
import { TopUp } from './top-up.tsx'

const NOTHING = { checkout: '' }

/** Balance, entries and statements, and the ways to add credit. */
export function BillingPage() {
  const { deployment } = useSession()
  const { state: address } = useAddressState(NOTHING)
  const [changes, setChanges] = useState(0)
  const overview = useQuery('overview', signal => call('GET /api/overview', { query: {} }, signal))
  const statements = useQuery('statements', signal => call('GET /api/billing/statements', {}, signal))
  const reload = () => {
    overview.reload()
    statements.reload()
    setChanges(count => count + 1)
  }
  useRepeated(address.checkout === 'done', reload)
  return (
    <Page
      title="Billing"
      lead="What was put in, what was taken out, and what is left. Nothing is ever changed afterwards."
    >
      {address.checkout === 'done' ? (
        <Notice kind="good">Thank you. The credit appears here as soon as the payment is confirmed.</Notice>
      ) : null}
      {address.checkout === 'cancelled' ? (
        <Notice>The payment was cancelled; nothing was charged.</Notice>
      ) : null}
      <div class="columns">
        <Answer query={overview} what="the balance">
          {({ balance, available, held, expiring }) => (
            <dl class="card figure">
              <dt>Balance</dt>
              <dd data-testid="balance">
                <Money amount={balance} style="short" />
              </dd>
              <dd class="note">
                <Money amount={available} style="short" /> available, <Money amount={held} style="short" />{' '}
                held by running requests
              </dd>
              {expiring.map(credit => (
                <dd key={`${credit.expires_at} ${credit.amount}`} class="note">
                  <Expiring credit={credit} />
                </dd>
              ))}
            </dl>
          )}
        </Answer>
        <Redeem onDone={reload} />
        {deployment.checkout ? <TopUp /> : null}
        {deployment.mail ? <LowCredit /> : null}
      </div>
      <EntryList
        about=""
        changes={changes}
        ask={(query, signal) => call('GET /api/billing/entries', { query }, signal)}
        empty={
          <Empty title="No entries yet">Credit that you get and requests that you pay appear here.</Empty>
        }
      />
      <StatementList
        query={statements}
        pageOf={month => addressOf('GET /api/billing/statements/:month', { params: { month } })}
        fileOf={month => addressOf('GET /api/billing/entries.csv', { query: { month } })}
      />
    </Page>
  )
}

const AGAIN_MS = 2000
const TIMES = 60

/** The payment is told of behind the page's back, most often within seconds. */
function useRepeated(isOn: boolean, reload: () => void): void {
  const [times, setTimes] = useState(0)
  useEffect(() => {
    if (!isOn || times === TIMES) return
    const timer = setTimeout(() => {
      setTimes(times + 1)
      reload()
    }, AGAIN_MS)
    return () => clearTimeout(timer)
  }, [isOn, times])
}
