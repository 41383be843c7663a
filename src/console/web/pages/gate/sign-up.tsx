import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { besideGate } from '../../after-sign-in.ts'
import { call } from '../../api/client.ts'
import { useForm } from '../../api/form-state.ts'
import { isZero, shortMoney } from '../../format/money.ts'
import { Form } from '../../parts/form.tsx'
import { Notice } from '../../parts/notice.tsx'
import { useSession } from '../../session.tsx'
import { EmailField, NewPasswordField } from './fields.tsx'
import { Gate } from './gate.tsx'

/** Where a visitor makes an account, if visitors may. */
export function SignUpPage() {
  const { deployment, become } = useSession()
  const { url } = useLocation()
  const [isSent, setSent] = useState(false)
  const signUp = useForm({ email: '', password: '' }, async texts => {
    const body = { email: texts.email.trim(), password: deployment.mail ? undefined : texts.password }
    const { next, user } = await call('POST /api/signup', { body })
    if (next === 'signed_in') become(user)
    else setSent(true)
  })
  const back = (
    <p>
      Have an account? <a href={besideGate(url, '/sign-in')}>Sign in</a>
    </p>
  )
  if (!deployment.signup) {
    return (
      <Gate title="Create an account" foot={back}>
        <Notice>Accounts are made by the administrator of this gateway. Ask for an invitation.</Notice>
      </Gate>
    )
  }
  if (isSent) {
    return (
      <Gate title="Look at your mail" foot={back}>
        <p role="status">
          If {signUp.texts.email} can have an account, a link to finish is on its way. It works once, and only
          for a while.
        </p>
      </Gate>
    )
  }
  const trial = deployment.trial_credit
  return (
    <Gate
      title="Create an account"
      lead={
        isZero(trial) ? undefined : `It comes with ${shortMoney(trial, deployment.currency)} of trial credit.`
      }
      foot={back}
    >
      <Form action={signUp} verb="Create account">
        <EmailField {...signUp.field('email')} />
        {deployment.mail ? null : <NewPasswordField {...signUp.field('password')} />}
      </Form>
    </Gate>
  )
}
