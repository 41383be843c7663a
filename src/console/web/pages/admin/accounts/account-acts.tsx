import { useState } from 'preact/hooks'
import { call } from '../../../api/client.ts'
import { useForm, useOnce, useRevision } from '../../../api/form-state.ts'
import { useQuery } from '../../../api/query.ts'
import { limitTexts, readLimits } from '../../../format/limit-texts.ts'
import { readLocalTime } from '../../../format/time.ts'
import { typedAmount } from '../../../format/typed.ts'
import { Dialog } from '../../../parts/dialog.tsx'
import { TextField } from '../../../parts/field.tsx'
import { Form, FormDialog } from '../../../parts/form.tsx'
import { Money } from '../../../parts/money.tsx'
import { Empty } from '../../../parts/notice.tsx'
import { Answer } from '../../../parts/page.tsx'
import { useCurrency } from '../../../session.tsx'
import { OwnPassword } from '../../gate/fields.tsx'
import { LimitFields } from '../../keys/limit-fields.tsx'
import { ModelChoice } from '../../models/model-choice.tsx'
import { LinkMade, type OneTimeLink } from '../users/link-made.tsx'
import {
  type ActProps,
  PayOut,
  Reasoned,
  type ReasonedAct,
  ToldReason,
  typedReason,
} from './reasoned-acts.tsx'

/** What an administrator may do about an account. */
export type Act = 'credit' | 'debit' | 'limits' | 'models' | 'invite' | 'pay-out' | ReasonedAct

/** The dialog of one of them; `onDone` is told what to say of it. */
export function ActDialog({ act, ...rest }: ActProps & { act: Act }) {
  switch (act) {
    case 'credit':
    case 'debit':
      return <Post {...rest} side={act} />
    case 'limits':
      return <ChangeLimits {...rest} />
    case 'models':
      return <ChangeModels {...rest} />
    case 'invite':
      return <Invite {...rest} />
    case 'pay-out':
      return <PayOut {...rest} />
    default:
      return <Reasoned {...rest} act={act} />
  }
}

function Post({ account, side, onDone, onClose }: ActProps & { side: 'credit' | 'debit' }) {
  const currency = useCurrency()
  const once = useOnce()
  const post = useForm({ amount: '', reason: '', expires_at: '' }, async texts => {
    const amount = typedAmount(texts.amount, 'amount')
    const input = { params: { id: account.id }, body: { amount, reason: typedReason(texts.reason), once } }
    if (side === 'credit') {
      const body = { ...input.body, expires_at: readLocalTime(texts.expires_at) }
      await call('POST /api/admin/accounts/:id/credit', { ...input, body })
      onDone('The credit is given')
    } else {
      await call('POST /api/admin/accounts/:id/debit', input)
      onDone('The debit is taken')
    }
  })
  const words =
    side === 'credit'
      ? { title: 'Give credit', verb: 'Give credit' }
      : { title: 'Take a debit', verb: 'Take debit' }
  return (
    <FormDialog {...words} action={post} onClose={onClose}>
      <p>
        {account.email} has <Money amount={account.balance} />.
        {side === 'credit'
          ? null
          : ' A debit may be more than that: the balance is below zero then, and no request is served.'}
      </p>
      <TextField
        label={`Amount in ${currency}`}
        autoFocus
        inputMode="decimal"
        placeholder="5.00"
        {...post.field('amount')}
      />
      <ToldReason {...post.field('reason')} />
      {side === 'credit' ? (
        <TextField
          label="Expires"
          optional
          type="datetime-local"
          hint="In your own time zone. What is left of this credit then is taken away."
          {...post.field('expires_at')}
        />
      ) : null}
    </FormDialog>
  )
}

function ChangeLimits({ account, onDone, onClose }: ActProps) {
  const revision = useRevision(account)
  const change = useForm(limitTexts(account.limits), async limits => {
    await call('PATCH /api/admin/accounts/:id/limits', {
      params: { id: account.id },
      body: { ...readLimits(limits), revision },
    })
    onDone('The limits are changed')
  })
  return (
    <FormDialog title="Limits" verb="Save limits" action={change} onClose={onClose}>
      <p class="soft">Left empty: the deployment's default for accounts.</p>
      <LimitFields field={change.field} />
    </FormDialog>
  )
}

function ChangeModels({ account, onDone, onClose }: ActProps) {
  const models = useQuery('models', signal => call('GET /api/admin/models', {}, signal))
  const revision = useRevision(account)
  const change = useForm({ models: account.models }, async ({ models }) => {
    await call('PUT /api/admin/accounts/:id/models', {
      params: { id: account.id },
      body: { models, revision },
    })
    onDone('The models are changed')
  })
  return (
    <Dialog title="Extra models" onClose={onClose}>
      <Answer query={models} what="models">
        {({ items }) => {
          const given = items.filter(
            model => !model.enabled_by_default || change.texts.models.includes(model.id),
          )
          return given.length === 0 ? (
            <Empty title="Every model is for everybody">
              A model that is not enabled by default can be given to single accounts here.
            </Empty>
          ) : (
            <Form action={change} verb="Save models" onCancel={onClose}>
              <ModelChoice
                legend="Beside those that everybody has"
                models={given.map(({ id }) => id)}
                {...change.field('models')}
              />
            </Form>
          )
        }}
      </Answer>
    </Dialog>
  )
}

function Invite({ account, onDone, onClose }: ActProps) {
  const [link, setLink] = useState<OneTimeLink>()
  const invite = useForm({ password: '' }, async body => {
    setLink(await call('POST /api/admin/accounts/:id/invite', { params: { id: account.id }, body }))
  })
  if (link !== undefined) {
    return <LinkMade title="Invitation" link={link} onClose={() => onDone('The invitation is made')} />
  }
  return (
    <FormDialog title="Invite the account holder" verb="Make the link" action={invite} onClose={onClose}>
      <p>Nobody signs in for this account yet. A one-time link lets {account.email} choose a password.</p>
      <OwnPassword autoFocus {...invite.field('password')} />
    </FormDialog>
  )
}
