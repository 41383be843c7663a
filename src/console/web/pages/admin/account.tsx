import { useCallback, useState } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import type { Account } from '../../../api/contract/admin-accounts.ts'
import type { Entry } from '../../../api/contract/billing.ts'
import type { Key } from '../../../api/contract/keys.ts'
import { call } from '../../api/client.ts'
import { useCursorList, useQuery } from '../../api/query.ts'
import { limitsInWords } from '../../format/limit-texts.ts'
import { Button } from '../../parts/button.tsx'
import { Money } from '../../parts/money.tsx'
import { Badge, Empty } from '../../parts/notice.tsx'
import { Answer, Page } from '../../parts/page.tsx'
import { Table } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { When } from '../../parts/when.tsx'
import { useMayAdminister } from '../../session.tsx'
import { ENTRY_COLUMNS } from '../billing.tsx'
import { RevokeKey } from '../key-revoke.tsx'
import { columnsOf } from '../keys.tsx'
import { pageQuery } from '../requests.tsx'
import { UsageCard } from '../usage-card.tsx'
import { type Act, ActDialog } from './account-acts.tsx'
import { AccountStatus } from './accounts.tsx'

/** One account, and what an administrator may do about it. */
export function AccountPage() {
  const id = Number(useRoute().params['id'])
  const mayAdminister = useMayAdminister()
  const [act, setAct] = useState<Act>()
  const [changes, setChanges] = useState(0)
  const account = useQuery(`account ${id} ${changes}`, signal =>
    call('GET /api/admin/accounts/:id', { params: { id } }, signal),
  )
  const toast = useToast()
  const onDone = (said: string) => {
    toast(said)
    setAct(undefined)
    setChanges(count => count + 1)
  }
  if (account.data === undefined && [400, 404].includes(account.failure?.status ?? 0)) return <NoAccount />
  return (
    <Page
      title={account.data?.email ?? `Account ${id}`}
      lead={`Account ${id}`}
      actions={
        account.data === undefined || !mayAdminister ? undefined : (
          <Actions account={account.data} onAct={setAct} />
        )
      }
    >
      <Answer query={account} what="the account">
        {found => (
          <>
            <Facts account={found} />
            {act === undefined ? null : (
              <ActDialog act={act} account={found} onDone={onDone} onClose={() => setAct(undefined)} />
            )}
          </>
        )}
      </Answer>
      <UsageCard
        groups={[
          { value: 'model', label: 'Model' },
          { value: 'key', label: 'Key' },
          { value: 'channel', label: 'Channel' },
        ]}
        ask={(query, signal) => call('GET /api/admin/usage', { query: { ...query, account_id: id } }, signal)}
        empty={<Empty title="No requests in this time">Nothing was asked with this account's keys.</Empty>}
      />
      <Keys id={id} mayAdminister={mayAdminister} />
      <Entries id={id} changes={changes} />
      <p>
        <a href={`/admin/traffic?account=${id}`}>Requests of this account</a>
      </p>
    </Page>
  )
}

function NoAccount() {
  return (
    <Page title="There is no such account">
      <Empty
        title="Nothing is here"
        action={
          <a class="button primary" href="/admin/accounts">
            All accounts
          </a>
        }
      >
        The address names no account of this gateway.
      </Empty>
    </Page>
  )
}

function Actions({ account, onAct }: { account: Account; onAct(act: Act): void }) {
  return (
    <>
      <Button kind="primary" onClick={() => onAct('credit')}>
        Credit
      </Button>
      <Button onClick={() => onAct('debit')}>Debit</Button>
      <Button onClick={() => onAct('limits')}>Limits</Button>
      <Button onClick={() => onAct('models')}>Models</Button>
      {account.user === null ? <Button onClick={() => onAct('invite')}>Invite</Button> : null}
      {account.status === 'closed' ? null : (
        <Button kind={account.status === 'active' ? 'danger' : 'primary'} onClick={() => onAct('status')}>
          {account.status === 'active' ? 'Suspend' : 'Resume'}
        </Button>
      )}
    </>
  )
}

function Facts({ account }: { account: Account }) {
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

const keyId = (key: Key) => key.id

function Keys({ id, mayAdminister }: { id: number; mayAdminister: boolean }) {
  const [revoking, setRevoking] = useState<Key>()
  const keys = useCursorList(
    `keys ${id}`,
    keyId,
    useCallback(
      (cursor, signal) =>
        call('GET /api/admin/accounts/:id/keys', { params: { id }, query: pageQuery(cursor) }, signal),
      [id],
    ),
  )
  const actions = {
    label: '',
    kind: 'fit bare',
    cell: (key: Key) =>
      key.status === 'revoked' ? null : (
        <div class="row-actions">
          <Button small kind="danger" onClick={() => setRevoking(key)}>
            Revoke<span class="unseen"> {key.name || key.prefix}</span>
          </Button>
        </div>
      ),
  } as const
  return (
    <section class="stack" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <Answer query={keys} what="keys">
        {items =>
          items.length === 0 ? (
            <Empty title="No keys">Whoever signs in for this account makes them.</Empty>
          ) : (
            <Table
              label="Keys"
              columns={mayAdminister ? [...columnsOf(undefined), actions] : columnsOf(undefined)}
              rows={items}
              keyOf={keyId}
              more={keys.more}
            />
          )
        }
      </Answer>
      {revoking === undefined ? null : (
        <RevokeKey
          apiKey={revoking}
          revoke={key => call('POST /api/admin/keys/:id/revoke', { params: { id: key } })}
          onClose={() => setRevoking(undefined)}
          onDone={keys.reload}
        />
      )}
    </section>
  )
}

const entryId = (entry: Entry) => `${entry.id} ${entry.kind}`

/** An administrator is sent to everybody's receipts, not to the own account's. */
const COLUMNS = ENTRY_COLUMNS.map(column =>
  column.label === 'For'
    ? {
        ...column,
        cell: (entry: Entry) =>
          entry.kind === 'usage' ? (
            <a href={`/admin/traffic?receipt=${entry.id}`}>Receipt</a>
          ) : (
            (entry.reason ?? entry.ref ?? '')
          ),
      }
    : column,
)

function Entries({ id, changes }: { id: number; changes: number }) {
  const entries = useCursorList(
    `entries ${id} ${changes}`,
    entryId,
    useCallback(
      (cursor, signal) =>
        call('GET /api/admin/accounts/:id/entries', { params: { id }, query: pageQuery(cursor) }, signal),
      [id],
    ),
  )
  return (
    <section class="stack" aria-labelledby="entries-title">
      <h2 id="entries-title">Entries</h2>
      <Answer query={entries} what="entries">
        {items =>
          items.length === 0 ? (
            <Empty title="No entries">Nothing was put in or taken out yet.</Empty>
          ) : (
            <Table label="Entries" columns={COLUMNS} rows={items} keyOf={entryId} more={entries.more} />
          )
        }
      </Answer>
    </section>
  )
}
