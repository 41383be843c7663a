import { useState } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import type { Account } from '../../../../api/contract/admin-accounts.ts'
import { call } from '../../../api/client.ts'
import { useOpened } from '../../../api/opened.ts'
import { namesNothing, useQuery } from '../../../api/query.ts'
import { isNegative, isZero } from '../../../format/money.ts'
import { Button } from '../../../parts/button.tsx'
import { Empty } from '../../../parts/notice.tsx'
import { Answer, Page } from '../../../parts/page.tsx'
import { useToast } from '../../../parts/toast.tsx'
import { useMayAdminister } from '../../../session.tsx'
import { NoSuch } from '../../nowhere.tsx'
import { UsageCard } from '../../requests/usage-card.tsx'
import { type Act, ActDialog } from './account-acts.tsx'
import { AccountEntries, AccountStatements } from './account-entries.tsx'
import { AccountFacts } from './account-facts.tsx'
import { AccountKeys } from './account-keys.tsx'

/** One account, and what an administrator may do about it. */
export function AccountPage() {
  const id = Number(useRoute().params['id'])
  const mayAdminister = useMayAdminister()
  const [changes, setChanges] = useState(0)
  const account = useQuery(
    `account ${id}`,
    signal => call('GET /api/admin/accounts/:id', { params: { id } }, signal),
    changes,
  )
  const [act, open] = useOpened<Act>(account.busy)
  const toast = useToast()
  const onChanged = () => setChanges(count => count + 1)
  const onDone = (said: string) => {
    toast(said)
    open()
    onChanged()
  }
  if (namesNothing(account)) {
    return (
      <NoSuch what="account" leadsTo="/admin/accounts" name="All accounts">
        The address names no account of this gateway.
      </NoSuch>
    )
  }
  return (
    <Page
      title={account.data?.email ?? `Account ${id}`}
      lead={`Account ${id}`}
      actions={
        account.data === undefined || !mayAdminister ? undefined : (
          <Actions account={account.data} onAct={open} />
        )
      }
    >
      <Answer query={account} what="the account">
        {found => (
          <>
            <AccountFacts account={found} />
            {act === undefined ? null : (
              <ActDialog act={act} account={found} onDone={onDone} onClose={() => open()} />
            )}
          </>
        )}
      </Answer>
      <UsageCard
        at="/api/admin"
        accountId={id}
        groups={['model', 'key', 'channel', 'service_tier']}
        empty={<Empty title="No requests in this time">Nothing was asked with this account's keys.</Empty>}
      />
      <AccountKeys id={id} changes={changes} mayAdminister={mayAdminister} />
      <AccountEntries id={id} changes={changes} onRefunded={onChanged} />
      <AccountStatements id={id} changes={changes} />
      <p class="row">
        <a class="alone" href={`/admin/traffic?account=${id}`}>
          Requests of this account
        </a>
        <a class="alone" href={`/admin/log?target=account+${id}`}>
          Acts on this account
        </a>
      </p>
    </Page>
  )
}

function Actions({ account, onAct }: { account: Account; onAct(act: Act): void }) {
  if (account.status === 'closed') return <ActionsOfClosed account={account} onAct={onAct} />
  return (
    <>
      <Button kind="primary" onClick={() => onAct('credit')}>
        Credit
      </Button>
      <Button onClick={() => onAct('debit')}>Debit</Button>
      <Button onClick={() => onAct('limits')}>Limits</Button>
      <Button onClick={() => onAct('models')}>Models</Button>
      {account.user === null ? <Button onClick={() => onAct('invite')}>Invite</Button> : null}
      <Button
        kind={account.status === 'active' ? 'danger' : 'primary'}
        onClick={() => onAct(account.status === 'active' ? 'suspend' : 'resume')}
      >
        {account.status === 'active' ? 'Suspend' : 'Resume'}
      </Button>
      <Button kind="danger" onClick={() => onAct('close')}>
        Close
      </Button>
    </>
  )
}

function ActionsOfClosed({ account, onAct }: { account: Account; onAct(act: Act): void }) {
  return (
    <>
      {isZero(account.balance) ? null : (
        <Button kind="primary" onClick={() => onAct('pay-out')}>
          {isNegative(account.balance) ? 'Write off' : 'Pay out'}
        </Button>
      )}
      <Button onClick={() => onAct('debit')}>Debit</Button>
      <Button onClick={() => onAct('reopen')}>Reopen</Button>
      {isZero(account.balance) ? (
        <Button kind="danger" onClick={() => onAct('erase')}>
          Erase holder
        </Button>
      ) : null}
    </>
  )
}
