import { useRef, useState } from 'preact/hooks'
import { call } from '../../../api/client.ts'
import { type ApiFailure, asFailure, messageBeside, wrong } from '../../../api/failure.ts'
import { useForm } from '../../../api/form-state.ts'
import { counted } from '../../../format/number.ts'
import { pastedAddresses } from '../../../format/pasted.ts'
import { optionalAmount } from '../../../format/typed.ts'
import { Button } from '../../../parts/button.tsx'
import { Code } from '../../../parts/copy.tsx'
import { Dialog, DialogEnd } from '../../../parts/dialog.tsx'
import { TextArea, TextField } from '../../../parts/field.tsx'
import { FormDialog } from '../../../parts/form.tsx'
import { Notice } from '../../../parts/notice.tsx'
import { useSession } from '../../../session.tsx'
import { OwnPassword } from '../../gate/fields.tsx'

/** What became of an address: the link of its account, or why there is none. */
interface Outcome {
  email: string
  url?: string | null
  mailed?: boolean
  failure?: ApiFailure
}

/** At once: they are made one after the other, while somebody waits. */
const MOST = 200

/** Makes an account for each of many addresses, one after the other, and tells what became of each. */
export function ManyAccounts({ onClose, onCreated }: { onClose(): void; onCreated(): void }) {
  const { deployment } = useSession()
  const [wanted, setWanted] = useState<readonly string[]>([])
  const isStopped = useRef(false)
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([])
  const invite = useForm({ emails: '', credit: '', password: '' }, async texts => {
    const emails = pastedAddresses(texts.emails)
    if (emails.length === 0) wrong('emails', 'One address in each line.')
    if (emails.length > MOST) wrong('emails', `At most ${MOST} at once. These are ${emails.length}.`)
    const credit = optionalAmount(texts.credit, 'credit')
    const told: Outcome[] = []
    setWanted(emails)
    setOutcomes([])
    isStopped.current = false
    for (const email of emails) {
      if (isStopped.current) break
      const body = { email, credit, invite: true, password: texts.password }
      const outcome = await call('POST /api/admin/accounts', { body }).catch(asFailure)
      // What is wrong with none of the addresses is wrong with the form, as long as there is no link to lose.
      const isOfForm = outcome instanceof Error && outcome.field !== 'email' && outcome.status !== 409
      if (isOfForm && told.every(({ failure }) => failure !== undefined)) throw outcome
      told.push(outcome instanceof Error ? { email, failure: outcome } : { email, ...outcome })
      setOutcomes([...told])
    }
    onCreated()
  })
  if (outcomes.length > 0 && !invite.busy && invite.failure === undefined) {
    return <Told outcomes={outcomes} untried={wanted.slice(outcomes.length)} onClose={onClose} />
  }
  return (
    <FormDialog title="Several accounts" verb="Create accounts" action={invite} onClose={onClose}>
      <TextArea
        label="Emails"
        rows={4}
        autoComplete="off"
        spellcheck={false}
        hint="One in each line. Each gets an account, and a link with which they choose a password."
        {...invite.field('emails')}
      />
      <TextField
        label={`Credit in ${deployment.currency}`}
        optional
        inputMode="decimal"
        placeholder={deployment.trial_credit}
        hint={`For each. Left empty: the trial credit of ${deployment.trial_credit}.`}
        {...invite.field('credit')}
      />
      <OwnPassword {...invite.field('password')} />
      {invite.busy ? (
        <div class="row">
          <span role="status" class="soft">
            {outcomes.length} of {counted(wanted.length, 'address', 'addresses')}
          </span>
          <Button
            small
            onClick={() => {
              isStopped.current = true
            }}
          >
            Stop after this one
          </Button>
        </div>
      ) : null}
    </FormDialog>
  )
}

function Told({
  outcomes,
  untried,
  onClose,
}: {
  outcomes: readonly Outcome[]
  /** Somebody stopped it before these. */
  untried: readonly string[]
  onClose(): void
}) {
  const made = outcomes.filter(({ failure }) => failure === undefined)
  const failed = outcomes.filter(({ failure }) => failure !== undefined)
  return (
    <Dialog
      title={`${counted(made.length, 'account')} made`}
      shape="dialog wide"
      held={made.length === 0 ? undefined : 'shown-once'}
      onClose={onClose}
    >
      {failed.length === 0 ? null : (
        <Notice kind="warn">
          <span>No link for:</span>
          <ul class="stack tight">
            {failed.map(({ email, failure }) => (
              <li key={email}>
                {email}: {failure && messageBeside('email', failure)}
                {failure && isLost(failure)
                  ? ' The account may have been made: then a new link is made on its page.'
                  : null}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {untried.length === 0 ? null : (
        <Notice>
          Stopped: {counted(untried.length, 'address', 'addresses')} left, from {untried[0]} on.
        </Notice>
      )}
      {made.length === 0 ? null : (
        <>
          <p>
            {made.every(({ mailed }) => mailed)
              ? 'Each link was also sent by mail.'
              : 'Give each link to whom it is for, and to nobody else: this is the only time they are shown.'}
          </p>
          <Code text={made.map(({ email, url }) => `${email} ${url}`).join('\n')} what="the links" />
        </>
      )}
      <DialogEnd onClose={onClose}>Done</DialogEnd>
    </Dialog>
  )
}

/** Whether nobody knows what became of it. */
function isLost({ status }: ApiFailure): boolean {
  return status === 0 || status >= 500
}
