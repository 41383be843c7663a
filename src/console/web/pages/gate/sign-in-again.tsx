import { useState } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { useSession } from '../../session.tsx'
import { CodeField } from './fields.tsx'
import { useSignIn } from './use-sign-in.ts'

/** Over a page whose session has ended: what was typed there stays, and what was asked for goes on. */
export function SignInAgain({ email }: { email: string }) {
  const { become } = useSession()
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const { signIn, needsCode } = useSignIn({ email, password, code })
  return (
    <Dialog title="Sign in again" held="asking" onClose={() => {}}>
      <Form action={signIn} verb="Sign in">
        <p>Your session has ended. What you have typed stays where it is.</p>
        <TextField
          label="Email"
          type="email"
          name="email"
          autoComplete="username"
          readOnly
          value={email}
          onValue={() => {}}
        />
        <TextField
          label="Password"
          type="password"
          name="password"
          autoComplete="current-password"
          autoFocus
          value={password}
          onValue={setPassword}
          error={signIn.errorOf('password')}
        />
        {needsCode ? <CodeField value={code} onValue={setCode} error={signIn.errorOf('code')} /> : null}
      </Form>
      <div>
        <Button kind="quiet" small onClick={() => become(null)}>
          Leave this page and sign in as somebody else
        </Button>
      </div>
    </Dialog>
  )
}
