import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { call } from '../../api/client.ts'
import { useForm } from '../../api/form-state.ts'
import { useQuery } from '../../api/query.ts'
import { Button } from '../../parts/button.tsx'
import { FormDialog } from '../../parts/form.tsx'
import { FailureNotice } from '../../parts/notice.tsx'
import { Answer } from '../../parts/page.tsx'
import { useToast } from '../../parts/toast.tsx'
import { When } from '../../parts/when.tsx'
import { OwnPassword } from '../gate/fields.tsx'

/** Asks an administrator to close the account, or takes that back. */
export function CloseAccount() {
  const wish = useQuery('closing', signal => call('GET /api/me/closing', {}, signal))
  const toast = useToast()
  const [isAsking, setAsking] = useState(false)
  const takeBack = useAction(async () => {
    await call('DELETE /api/me/closing', {})
    toast('Your account stays open')
    wish.reload()
  })
  return (
    <section class="card" aria-labelledby="close-title">
      <h2 id="close-title">Close the account</h2>
      <Answer query={wish} what="whether it is to be closed">
        {({ requested_at }) =>
          requested_at === null ? (
            <>
              <p>
                An administrator closes it when you ask: your keys stop, and nobody can sign in for it any
                more. Receipts and entries are kept for the books; what is left of your balance they settle
                with you.
              </p>
              <div>
                <Button kind="danger" onClick={() => setAsking(true)}>
                  Ask for it to be closed
                </Button>
              </div>
            </>
          ) : (
            <>
              <p>
                You asked for it <When iso={requested_at} />. Until an administrator has closed it, everything
                goes on.
              </p>
              <FailureNotice failure={takeBack.failure} />
              <div>
                <Button busy={takeBack.busy} onClick={() => takeBack.run()}>
                  Keep it open
                </Button>
              </div>
            </>
          )
        }
      </Answer>
      {isAsking ? <Ask onClose={() => setAsking(false)} onAsked={wish.reload} /> : null}
    </section>
  )
}

function Ask({ onClose, onAsked }: { onClose(): void; onAsked(): void }) {
  const ask = useForm({ password: '' }, async ({ password }) => {
    await call('POST /api/me/closing', { body: { password } })
    onAsked()
    onClose()
  })
  return (
    <FormDialog title="Close the account?" verb="Ask for it to be closed" action={ask} onClose={onClose}>
      <p>You can take it back until an administrator has closed it.</p>
      <OwnPassword autoFocus {...ask.field('password')} />
    </FormDialog>
  )
}
