import { useCallback, useState } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import type { Account } from '../../../api/contract/admin-accounts.ts'
import type { Entry } from '../../../api/contract/billing.ts'
import type { Key } from '../../../api/contract/keys.ts'
import { useAction } from '../../api/action.ts'
import { call } from '../../api/client.ts'
import { ApiFailure } from '../../api/failure.ts'
import { useCursorList, useQuery } from '../../api/query.ts'
import { readAmount } from '../../format/money.ts'
import { wholeNumber } from '../../format/number.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Money } from '../../parts/money.tsx'
import { Badge, Empty } from '../../parts/notice.tsx'
import { Answer, Page } from '../../parts/page.tsx'
import { Table } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { When } from '../../parts/when.tsx'
import { useMayAdminister } from '../../session.tsx'
import { ENTRY_COLUMNS } from '../billing.tsx'
import { columnsOf } from '../keys.tsx'
import { LimitFields, limitTexts, readLimits } from '../limit-fields.tsx'
import { ModelChoice } from '../model-choice.tsx'
import { pageQuery } from '../requests.tsx'
import { UsageCard } from '../usage-card.tsx'
import { AccountStatus } from './accounts.tsx'
import { LinkMade } from './link-made.tsx'

type Act = 'credit' | 'debit' | 'status' | 'limits' | 'models' | 'invite'

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
  const limit = (value: number | null) => (value === null ? 'default' : wholeNumber(value))
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
          <dd>
            {limit(account.limits.requests_per_minute)} requests and {limit(account.limits.tokens_per_minute)}{' '}
            tokens a minute, {limit(account.limits.concurrent_requests)} at once
          </dd>
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

interface ActProps {
  account: Account
  onDone(said: string): void
  onClose(): void
}

function ActDialog({ act, ...rest }: ActProps & { act: Act }) {
  switch (act) {
    case 'credit':
    case 'debit':
      return <Post {...rest} side={act} />
    case 'status':
      return <ChangeStatus {...rest} />
    case 'limits':
      return <ChangeLimits {...rest} />
    case 'models':
      return <ChangeModels {...rest} />
    case 'invite':
      return <Invite {...rest} />
  }
}

function Post({ account, side, onDone, onClose }: ActProps & { side: 'credit' | 'debit' }) {
  const [text, setText] = useState('')
  const [reason, setReason] = useState('')
  const post = useAction(async () => {
    const amount = readAmount(text)
    if (amount === undefined)
      throw new ApiFailure(400, 'invalid_request', 'An amount such as 5.00.', 'amount')
    if (reason.trim() === '')
      throw new ApiFailure(400, 'invalid_request', 'Say why, for the record.', 'reason')
    const input = { params: { id: account.id }, body: { amount, reason: reason.trim() } }
    await (side === 'credit'
      ? call('POST /api/admin/accounts/:id/credit', input)
      : call('POST /api/admin/accounts/:id/debit', input))
    onDone(side === 'credit' ? 'The credit is given' : 'The debit is taken')
  })
  return (
    <Dialog title={side === 'credit' ? 'Give credit' : 'Take a debit'} onClose={onClose}>
      <Form
        action={post}
        fields={['amount', 'reason']}
        verb={side === 'credit' ? 'Give credit' : 'Take debit'}
        onCancel={onClose}
      >
        <TextField
          label="Amount"
          autoFocus
          inputMode="decimal"
          placeholder="5.00"
          value={text}
          onValue={setText}
          error={post.errorOf('amount')}
        />
        <TextField
          label="Reason"
          hint="The account holder sees it, and so does the audit log."
          value={reason}
          onValue={setReason}
          error={post.errorOf('reason')}
        />
      </Form>
    </Dialog>
  )
}

function ChangeStatus({ account, onDone, onClose }: ActProps) {
  const isActive = account.status === 'active'
  const [reason, setReason] = useState('')
  const change = useAction(async () => {
    if (reason.trim() === '')
      throw new ApiFailure(400, 'invalid_request', 'Say why, for the record.', 'reason')
    const input = { params: { id: account.id }, body: { reason: reason.trim() } }
    await (isActive
      ? call('POST /api/admin/accounts/:id/suspend', input)
      : call('POST /api/admin/accounts/:id/resume', input))
    onDone(isActive ? 'The account is suspended' : 'The account is active again')
  })
  return (
    <Dialog title={isActive ? 'Suspend this account?' : 'Resume this account?'} onClose={onClose}>
      <Form
        action={change}
        fields={['reason']}
        verb={isActive ? 'Suspend account' : 'Resume account'}
        onCancel={onClose}
      >
        <p>
          {isActive
            ? 'Its keys are refused at once and its running answers end. Nothing is lost: it can be resumed.'
            : 'Its keys work again at once.'}
        </p>
        <TextField
          label="Reason"
          autoFocus
          value={reason}
          onValue={setReason}
          error={change.errorOf('reason')}
        />
      </Form>
    </Dialog>
  )
}

function ChangeLimits({ account, onDone, onClose }: ActProps) {
  const [limits, setLimits] = useState(limitTexts(account.limits))
  const change = useAction(async () => {
    await call('PATCH /api/admin/accounts/:id/limits', {
      params: { id: account.id },
      body: readLimits(limits),
    })
    onDone('The limits are changed')
  })
  return (
    <Dialog title="Limits" onClose={onClose}>
      <Form
        action={change}
        fields={['requests_per_minute', 'tokens_per_minute', 'concurrent_requests']}
        verb="Save limits"
        onCancel={onClose}
      >
        <p class="soft">Left empty: the deployment's default for accounts.</p>
        <LimitFields value={limits} onValue={setLimits} errorOf={change.errorOf} />
      </Form>
    </Dialog>
  )
}

function ChangeModels({ account, onDone, onClose }: ActProps) {
  const models = useQuery('models', signal => call('GET /api/admin/models', {}, signal))
  const [chosen, setChosen] = useState(account.models)
  const change = useAction(async () => {
    await call('PUT /api/admin/accounts/:id/models', { params: { id: account.id }, body: { models: chosen } })
    onDone('The models are changed')
  })
  return (
    <Dialog title="Extra models" onClose={onClose}>
      <Answer query={models} what="models">
        {({ items }) => {
          const given = items.filter(model => !model.enabled_by_default || chosen.includes(model.id))
          return given.length === 0 ? (
            <Empty title="Every model is for everybody">
              A model that is not enabled by default can be given to single accounts here.
            </Empty>
          ) : (
            <Form action={change} fields={['models']} verb="Save models" onCancel={onClose}>
              <ModelChoice
                legend="Beside those that everybody has"
                models={given.map(({ id }) => id)}
                chosen={chosen}
                onValue={setChosen}
              />
            </Form>
          )
        }}
      </Answer>
    </Dialog>
  )
}

function Invite({ account, onDone, onClose }: ActProps) {
  const [link, setLink] = useState<{ url: string; mailed: boolean }>()
  const invite = useAction(async () => {
    setLink(await call('POST /api/admin/accounts/:id/invite', { params: { id: account.id } }))
  })
  if (link !== undefined) {
    return (
      <LinkMade
        title="Invitation"
        url={link.url}
        mailed={link.mailed}
        onClose={() => onDone('The invitation is made')}
      />
    )
  }
  return (
    <Dialog title="Invite the account holder" onClose={onClose}>
      <Form action={invite} fields={[]} verb="Make the link" onCancel={onClose}>
        <p>Nobody signs in for this account yet. A one-time link lets {account.email} choose a password.</p>
      </Form>
    </Dialog>
  )
}

const keyId = (key: Key) => key.id

function Keys({ id, mayAdminister }: { id: number; mayAdminister: boolean }) {
  const toast = useToast()
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
      <Answer query={{ data: keys.items, failure: keys.failure, reload: keys.reload }} what="keys">
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
        <Confirm
          title="Revoke this key?"
          verb="Revoke key"
          danger
          onClose={() => setRevoking(undefined)}
          action={async () => {
            await call('POST /api/admin/keys/:id/revoke', { params: { id: revoking.id } })
            keys.reload()
            toast('The key is revoked')
          }}
        >
          <p>
            <b>{revoking.name || revoking.prefix}</b> stops working at once and for good.
          </p>
        </Confirm>
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
      <Answer
        query={{ data: entries.items, failure: entries.failure, reload: entries.reload }}
        what="entries"
      >
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
