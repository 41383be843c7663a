import type { Account } from '../../../api/contract/admin-accounts.ts'
import { limitsInWords } from '../../format/limit-texts.ts'
import { Money } from '../../parts/money.tsx'
import { Badge } from '../../parts/notice.tsx'
import { When } from '../../parts/when.tsx'
import { AccountStatus } from './accounts.tsx'

/** What an account has, and what it may. */
export function AccountFacts({ account }: { account: Account }) {
  return (
    <section class="columns wide" aria-label="The account">
      <div class="card">
        <dl class="columns figures">
          <div class="figure">
            <dt>Balance</dt>
            <dd data-testid="balance">
              <Money amount={account.balance} style="short" />
            </dd>
          </div>
          <div class="figure">
            <dt>Available</dt>
            <dd>
              <Money amount={account.available} style="short" />
            </dd>
          </div>
          <div class="figure">
            <dt>Held</dt>
            <dd>
              <Money amount={account.held} style="short" />
            </dd>
          </div>
        </dl>
      </div>
      <div class="card">
        <dl class="facts">
          <dt>Status</dt>
          <dd>
            <AccountStatus account={account} />
          </dd>
          {account.close_requested_at === null ? null : (
            <>
              <dt>Asks to be closed</dt>
              <dd>
                <When iso={account.close_requested_at} />
              </dd>
            </>
          )}
          <dt>Made</dt>
          <dd>
            <When iso={account.created_at} />
          </dd>
          <dt>Signs in</dt>
          <dd>{account.user === null ? 'nobody yet' : `user ${account.user.id}, ${account.user.status}`}</dd>
          <dt>Limits</dt>
          <dd>{limitsInWords(account.limits)}</dd>
          <dt>Extra models</dt>
          <dd>
            {account.models.length === 0 ? (
              'none beside those of everybody'
            ) : (
              <span class="tags">
                {account.models.map(model => (
                  <Badge key={model} kind="plain">
                    {model}
                  </Badge>
                ))}
              </span>
            )}
          </dd>
        </dl>
      </div>
    </section>
  )
}
