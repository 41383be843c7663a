import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { ConsoleOutput } from '../../../api/contract/api.ts'
import { call } from '../../api/client.ts'
import { asFailure } from '../../api/failure.ts'
import { useForm } from '../../api/form-state.ts'
import { useQuery } from '../../api/query.ts'
import { Form } from '../../parts/form.tsx'
import { FailureNotice } from '../../parts/notice.tsx'
import { Answer } from '../../parts/page.tsx'
import { useSession } from '../../session.tsx'
import { CodeField, EmailField, KnownEmail, NewPasswordField } from './fields.tsx'
import { Gate } from './gate.tsx'

type Link = ConsoleOutput<'POST /api/links/inspect'>

/** Accepts a one-time link. Its token stands behind `#`, which a browser sends to no server. */
export function LinkPage() {
  const token = useLinkToken()
  const link = useQuery(token, signal => call('POST /api/links/inspect', { body: { token } }, signal))
  if (link.data !== undefined) return <AcceptLink key={token} token={token} link={link.data} />
  // Whatever else was answered tells nothing of the link.
  const isDead = [400, 404].includes(link.failure?.status ?? 0)
  return (
    <Gate title={isDead ? 'This link does not work' : 'One moment'} foot={<ToSignIn />}>
      {isDead ? (
        <>
          <FailureNotice failure={link.failure} />
          <p>A link works once and only for a while. Ask whoever sent it for a new one.</p>
        </>
      ) : (
        <Answer query={link} what="the link">
          {() => null}
        </Answer>
      )}
    </Gate>
  )
}

/** For whom the link has nothing any more: also where its last answer was lost, and it has let them in. */
function ToSignIn() {
  return (
    <p>
      <a class="alone" href="/sign-in">
        Go to sign in
      </a>
    </p>
  )
}

/** Another link in the same tab changes only the part behind `#`, which loads no page. */
function useLinkToken(): string {
  const [token, setToken] = useState(() => location.hash.slice(1))
  useEffect(() => {
    const read = () => setToken(location.hash.slice(1))
    window.addEventListener('hashchange', read)
    return () => window.removeEventListener('hashchange', read)
  }, [])
  return token
}

const WORDS: Record<Link['kind'], { title: string; lead: string; verb: string }> = {
  first_owner: {
    title: 'Welcome to Tollgate',
    lead: 'You are the first here: choose how you sign in, and this gateway is yours.',
    verb: 'Make me the owner',
  },
  invite: { title: 'You are invited', lead: 'Choose a password to begin.', verb: 'Accept the invitation' },
  password_reset: {
    title: 'New password',
    lead: 'It signs you out everywhere else.',
    verb: 'Set the password',
  },
  signup: { title: 'Almost there', lead: 'Choose a password to finish.', verb: 'Create account' },
}

function AcceptLink({ token, link }: { token: string; link: Link }) {
  const { become } = useSession()
  const { route } = useLocation()
  const [needsCode, setNeedsCode] = useState(false)
  const accept = useForm({ email: '', password: '', code: '' }, async texts => {
    try {
      const body = {
        token,
        password: texts.password,
        email: link.email === null ? texts.email.trim() : undefined,
        code: needsCode ? texts.code.trim() : undefined,
      }
      const { user } = await call('POST /api/links/accept', { body })
      become(user)
      route('/', true)
    } catch (error) {
      if (asFailure(error).code !== 'second_factor_required' || needsCode) throw error
      setNeedsCode(true)
    }
  })
  const words = WORDS[link.kind]
  return (
    <Gate title={words.title} lead={words.lead} foot={accept.failure && <ToSignIn />}>
      <Form action={accept} verb={words.verb}>
        {link.email === null ? (
          <EmailField hint="You sign in with it." {...accept.field('email')} />
        ) : (
          <KnownEmail email={link.email} />
        )}
        <NewPasswordField {...accept.field('password')} />
        {needsCode ? <CodeField {...accept.field('code')} /> : null}
      </Form>
    </Gate>
  )
}
