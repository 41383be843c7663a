import type { LimitReading, Overview } from '../../api/contract/usage.ts'
import { call } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { isPositive } from '../format/money.ts'
import { wholeNumber } from '../format/number.ts'
import { ZONE } from '../format/time.ts'
import { MoneyFigure } from '../parts/facts.tsx'
import { Meter } from '../parts/meter.tsx'
import { Badge, Empty, Notice } from '../parts/notice.tsx'
import { Answer, Page } from '../parts/page.tsx'
import { When } from '../parts/when.tsx'
import { Expiring } from './billing/expiring.tsx'
import { FirstSteps } from './first-steps.tsx'
import { NoUsage, UsageCard } from './requests/usage-card.tsx'

/** What one has, what one spent, and how close the limits are. */
export function OverviewPage() {
  const overview = useQuery('overview', signal =>
    call('GET /api/overview', { query: { zone: ZONE } }, signal),
  )
  return (
    <Page title="Overview" lead="What you have, what you spent, and how close your limits are.">
      {overview.data === undefined ? null : <Warning overview={overview.data} />}
      <FirstSteps />
      <Answer query={overview} what="your account">
        {found => <Figures overview={found} />}
      </Answer>
      <UsageCard at="/api" groups={['model', 'key', 'service_tier']} empty={<NoUsage />} />
      {overview.data === undefined ? null : <Limits readings={overview.data.limits} />}
    </Page>
  )
}

function Figures({ overview }: { overview: Overview }) {
  return (
    <dl class="columns figures">
      <MoneyFigure
        name="Available"
        amount={overview.available}
        note="what the next request may spend"
        isCard
      />
      <MoneyFigure
        name="Balance"
        amount={overview.balance}
        note={<BalanceNote overview={overview} />}
        isCard
      />
      <MoneyFigure name="Held" amount={overview.held} note="set aside by running requests" isCard />
      <MoneyFigure name="Spent today" amount={overview.spent_today} note="since midnight" isCard />
      <MoneyFigure name="Spent in 30 days" amount={overview.spent_30_days} note="today included" isCard />
    </dl>
  )
}

function BalanceNote({ overview: { expiring, on_trial } }: { overview: Overview }) {
  const [first] = expiring
  if (first !== undefined) return <Expiring credit={first} />
  return on_trial ? 'trial credit' : 'put in, less taken out'
}

function Warning({ overview }: { overview: Overview }) {
  if (overview.status !== 'active') {
    return (
      <Notice kind="bad">
        This account is {overview.status}: its keys are refused. Your administrator can say why.
      </Notice>
    )
  }
  if (!isPositive(overview.available)) {
    return (
      <Notice kind="warn">
        <span>
          There is no credit left: requests are refused with 402 until there is.{' '}
          <a href="/billing">Add credit</a>
        </span>
      </Notice>
    )
  }
  if (overview.refused_at === null) return null
  return (
    <Notice kind="warn">
      <span>
        The credit that is left does not pay for what some requests may cost at most:{' '}
        <a href="/requests?status=402&since=day">they are refused with 402</a>, the last one{' '}
        <When iso={overview.refused_at} style="since" />. <a href="/billing">Add credit</a>, or ask for fewer
        output tokens at most.
      </span>
    </Notice>
  )
}

const KINDS: Record<LimitReading['kind'], string> = {
  requests: 'Requests in the last minute',
  tokens: 'Tokens in the last minute',
  concurrent: 'Requests at once',
}

function Limits({ readings }: { readings: readonly LimitReading[] }) {
  return (
    <section class="card" aria-labelledby="limits-title">
      <div class="card-head">
        <h2 id="limits-title">Limits</h2>
        <p>
          Your account's, and of the keys used in the last minute the 20 nearest to a limit. Beyond a limit,
          requests are refused with 429 and told when to come back.
        </p>
      </div>
      {readings.length === 0 ? (
        <Empty title="Nothing limits you">
          Your account has no limit, and no key that was used in the last minute has one.
        </Empty>
      ) : (
        <div class="columns">
          {readings.map(reading => (
            <div key={`${reading.scope} ${reading.key_id} ${reading.kind}`} class="stack tight">
              <div>
                <Badge kind="plain">{whoseOf(reading)}</Badge>
              </div>
              <Meter
                label={KINDS[reading.kind]}
                of={whoseOf(reading)}
                value={`${wholeNumber(reading.used)} of ${wholeNumber(reading.limit)}`}
                share={Math.min(1, reading.used / reading.limit)}
              />
            </div>
          ))}
        </div>
      )}
    </section>
  )
}

function whoseOf({ scope, key_name: name }: LimitReading): string {
  return scope === 'account' ? 'Account' : `Key ${name ?? ''}`
}
