import { useState } from 'preact/hooks'
import type { ConsoleOutput } from '../../../api/contract/api.ts'
import { useAction } from '../../api/action.ts'
import { call } from '../../api/client.ts'
import { useForm } from '../../api/form-state.ts'
import { useQuery } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Form } from '../../parts/form.tsx'
import { Badge, FailureNotice } from '../../parts/notice.tsx'
import { Answer, Page } from '../../parts/page.tsx'
import { actionColumn, type Column, Table } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { When } from '../../parts/when.tsx'
import { useSession, useUser } from '../../session.tsx'
import { NewPasswordField, OwnPassword } from '../gate/fields.tsx'
import { CloseAccount } from './close-account.tsx'
import { SecondFactor } from './second-factor.tsx'

type SessionRow = ConsoleOutput<'GET /api/sessions'>['items'][number]

/** How one signs in, where one is signed in, and the end of the account. */
export function SettingsPage() {
  const user = useUser()
  return (
    <Page title="Settings" lead={<>How you sign in as {user.email}.</>}>
      <div class="columns wide">
        <Password />
        <SecondFactor />
      </div>
      <Sessions />
      {user.role === null ? <CloseAccount /> : null}
    </Page>
  )
}

const NO_PASSWORDS = { current: '', password: '' }

function Password() {
  const toast = useToast()
  const change = useForm(NO_PASSWORDS, async body => {
    await call('PUT /api/me/password', { body })
    change.change(NO_PASSWORDS)
    toast('Your password is changed, and you are signed out everywhere else')
  })
  return (
    <section class="card" aria-labelledby="password-title">
      <h2 id="password-title">Password</h2>
      <Form action={change} verb="Change password">
        <OwnPassword label="Current password" {...change.field('current')} />
        <NewPasswordField label="New password" {...change.field('password')} />
      </Form>
    </section>
  )
}

function Sessions() {
  const { become } = useSession()
  const sessions = useQuery('sessions', signal => call('GET /api/sessions', {}, signal))
  const [isLeaving, setLeaving] = useState(false)
  const toast = useToast()
  const end = useAction(async (id: number) => {
    await call('DELETE /api/sessions/:id', { params: { id } })
    toast('That session is signed out')
    sessions.reload()
  })
  return (
    <section class="stack" aria-labelledby="sessions-title">
      <div class="card-head">
        <h2 id="sessions-title">Where you are signed in</h2>
        <Button kind="danger" onClick={() => setLeaving(true)}>
          Sign out everywhere
        </Button>
      </div>
      <FailureNotice failure={end.failure} />
      <Answer query={sessions} what="sessions">
        {({ items }) => (
          <Table
            label="Sessions"
            columns={sessionColumns(id => end.run(id))}
            rows={items}
            keyOf={session => session.id}
          />
        )}
      </Answer>
      {isLeaving ? (
        <Confirm
          title="Sign out everywhere?"
          verb="Sign out everywhere"
          danger
          onClose={() => setLeaving(false)}
          action={async () => {
            await call('DELETE /api/sessions', {})
            become(null)
          }}
        >
          <p>Every browser is signed out, this one included. Keys keep working.</p>
        </Confirm>
      ) : null}
    </section>
  )
}

function sessionColumns(onEnd: (id: number) => void): Column<SessionRow>[] {
  return [
    {
      label: 'Browser',
      kind: 'primary-cell',
      cell: session => (
        <>
          {session.agent || 'Unknown'} {session.current ? <Badge kind="good">This one</Badge> : null}
        </>
      ),
    },
    { label: 'Address', cell: session => session.ip ?? <span class="soft">unknown</span> },
    { label: 'Signed in', kind: 'nowrap', cell: session => <When iso={session.created_at} /> },
    { label: 'Last seen', kind: 'nowrap', cell: session => <When iso={session.seen_at} style="since" /> },
    actionColumn(session =>
      session.current ? null : (
        <Button small kind="danger" onClick={() => onEnd(session.id)}>
          Sign out<span class="unseen"> {session.agent}</span>
        </Button>
      ),
    ),
  ]
}
