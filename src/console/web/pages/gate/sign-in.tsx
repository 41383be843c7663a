import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { call } from '../../api/client.ts'
import { asFailure } from '../../api/failure.ts'
import { TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { useSession } from '../../session.tsx'
import { CodeField, EmailField } from './fields.tsx'
import { Gate } from './gate.tsx'

export function SignInPage() {
  const { deployment, become } = useSession()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [needsCode, setNeedsCode] = useState(false)
  const signIn = useAction(async () => {
    try {
      const body = { email: email.trim(), password, ...(needsCode ? { code: code.trim() } : {}) }
      become((await call('POST /api/session', { body })).user)
    } catch (error) {
      // The first time this is a question and no failure.
      if (asFailure(error).code !== 'second_factor_required' || needsCode) throw error
      setNeedsCode(true)
    }
  })
  const wrongCode = signIn.failure?.code === 'second_factor_required' ? signIn.failure.message : undefined
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
      <Form
        action={wrongCode === undefined ? signIn : { ...signIn, failure: undefined }}
        fields={['email', 'password', 'code']}
        verb="Sign in"
      >
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
        {needsCode ? (
          <CodeField value={code} onValue={setCode} error={wrongCode ?? signIn.errorOf('code')} />
        ) : null}
        <p>
          <a href="/forgotten">Forgotten your password?</a>
        </p>
      </Form>
    </Gate>
  )
}
