import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { useSession } from '../../session.tsx'
import { CodeField, KnownEmail, PasswordField } from './fields.tsx'
import { useSignIn } from './use-sign-in.ts'

/** Over a page whose session has ended: what was typed there stays, and what was asked for goes on. */
export function SignInAgain({ email }: { email: string }) {
  const { become } = useSession()
  const { signIn, needsCode } = useSignIn(email)
  return (
    <Dialog title="Sign in again" held="asking" onClose={() => {}}>
      <Form action={signIn} verb="Sign in">
        <p>Your session has ended. What you have typed stays where it is.</p>
        <KnownEmail email={email} />
        <PasswordField autoFocus {...signIn.field('password')} />
        {needsCode ? <CodeField {...signIn.field('code')} /> : null}
      </Form>
      <div>
        <Button kind="quiet" small onClick={() => become(null)}>
          Leave this page and sign in as somebody else
        </Button>
      </div>
    </Dialog>
  )
}
