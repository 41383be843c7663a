import { useLocation } from 'preact-iso'
import { besideGate } from '../../after-sign-in.ts'
import { Form } from '../../parts/form.tsx'
import { useSession } from '../../session.tsx'
import { CodeField, EmailField, PasswordField } from './fields.tsx'
import { Gate } from './gate.tsx'
import { useSignIn } from './use-sign-in.ts'

/** Where one signs in. */
export function SignInPage() {
  const { deployment } = useSession()
  const { signIn, needsCode } = useSignIn()
  const { url } = useLocation()
  return (
    <Gate
      title="Sign in"
      lead={needsCode ? 'Your account asks for a second factor.' : undefined}
      foot={
        <p>
          {deployment.signup ? (
            <>
              New here? <a href={besideGate(url, '/sign-up')}>Create an account</a>
            </>
          ) : (
            'Accounts are made by your administrator.'
          )}
        </p>
      }
    >
      <Form action={signIn} verb="Sign in">
        <EmailField {...signIn.field('email')} />
        <PasswordField {...signIn.field('password')} />
        {needsCode ? <CodeField {...signIn.field('code')} /> : null}
        <p>
          <a class="alone" href={besideGate(url, '/forgotten')}>
            Forgotten your password?
          </a>
        </p>
      </Form>
    </Gate>
  )
}
