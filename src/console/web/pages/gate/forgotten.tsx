import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { besideGate } from '../../after-sign-in.ts'
import { call } from '../../api/client.ts'
import { useForm } from '../../api/form-state.ts'
import { Form } from '../../parts/form.tsx'
import { useSession } from '../../session.tsx'
import { EmailField } from './fields.tsx'
import { Gate } from './gate.tsx'

/** Where one asks for a link to a new password. */
export function ForgottenPage() {
  const { deployment } = useSession()
  const { url } = useLocation()
  const [isDone, setDone] = useState(false)
  const ask = useForm({ email: '' }, async ({ email }) => {
    await call('POST /api/password-reset', { body: { email: email.trim() } })
    setDone(true)
  })
  return (
    <Gate
      title="New password"
      lead={isDone ? undefined : 'You get a link that works once and lets you choose a new password.'}
      foot={
        <p>
          <a class="alone" href={besideGate(url, '/sign-in')}>
            Back to sign in
          </a>
        </p>
      }
    >
      {isDone ? (
        <p role="status">
          {deployment.mail
            ? `If there is an account for ${ask.texts.email}, a link is on its way to it.`
            : 'If there is an account for this address, your administrator now sees that you need a link, and can give you one. No mail tells them: ask them for it.'}
        </p>
      ) : (
        <Form action={ask} verb="Ask for a link">
          <EmailField {...ask.field('email')} />
        </Form>
      )}
    </Gate>
  )
}
