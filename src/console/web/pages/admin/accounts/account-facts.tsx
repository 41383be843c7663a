import type { Account } from '../../../../api/contract/admin-accounts.ts'
import { limitsInWords } from '../../../format/limit-texts.ts'
import { Fact, MoneyFigure } from '../../../parts/facts.tsx'
import { Badge } from '../../../parts/notice.tsx'
import { When } from '../../../parts/when.tsx'
import { AccountStatus } from './accounts.tsx'

/** What an account has, and what it may. */
export function AccountFacts({ account }: { account: Account }) {
  return (
    <section class="columns wide" aria-label="The account">
      <div class="card">
        <dl class="columns figures">
          <MoneyFigure name="Balance" amount={account.balance} testId="balance" />
          <MoneyFigure name="Available" amount={account.available} />
          <MoneyFigure name="Held" amount={account.held} />
        </dl>
      </div>
      <div class="card">
        <dl class="facts">
          <Fact name="Status">
            <AccountStatus account={account} />
          </Fact>
          <Fact name="Asks to be closed">
            {account.close_requested_at && <When iso={account.close_requested_at} />}
          </Fact>
          <Fact name="Made">
            <When iso={account.created_at} />
          </Fact>
          <Fact name="Signs in">
            {account.user === null ? (
              'nobody yet'
            ) : (
              <>
                <a href={`/admin/users?search=${encodeURIComponent(account.email)}`}>
                  user {account.user.id}
                </a>
                , {account.user.status}
              </>
            )}
          </Fact>
          <Fact name="Limits">{limitsInWords(account.limits)}</Fact>
          <Fact name="Extra models">
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
          </Fact>
        </dl>
      </div>
    </section>
  )
}
