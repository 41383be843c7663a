import { useState } from 'preact/hooks'
import { TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { useSession } from '../../session.tsx'
import { CodeField, EmailField } from './fields.tsx'
import { Gate } from './gate.tsx'
import { useSignIn } from './use-sign-in.ts'

/** Where one signs in. */
export function SignInPage() {
  const { deployment } = useSession()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const { signIn, needsCode } = useSignIn({ email, password, code })
  return (
    <Gate
      title="Sign in"
      lead={needsCode ? 'Your account asks for a second factor.' : undefined}
      foot={
        <p>
          {deployment.signup ? (
            <>
              New here? <a href="/sign-up">Create an account</a>
            </>
          ) : (
            'Accounts are made by your administrator.'
          )}
        </p>
      }
    >
      <Form action={signIn} verb="Sign in">
        <EmailField value={email} onValue={setEmail} error={signIn.errorOf('email')} />
        <TextField
          label="Password"
          type="password"
          name="password"
          autoComplete="current-password"
          value={password}
          onValue={setPassword}
          error={signIn.errorOf('password')}
        />
        {needsCode ? <CodeField value={code} onValue={setCode} error={signIn.errorOf('code')} /> : null}
        <p>
          <a href="/forgotten">Forgotten your password?</a>
        </p>
      </Form>
    </Gate>
  )
}
