import { generate } from 'lean-qr'
import { useMemo, useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { useForm } from '../../api/form-state.ts'
import { Button } from '../../parts/button.tsx'
import { Code } from '../../parts/copy.tsx'
import { Dialog, DialogEnd } from '../../parts/dialog.tsx'
import { Form, FormDialog } from '../../parts/form.tsx'
import { Badge, Notice } from '../../parts/notice.tsx'
import { useSession, useUser } from '../../session.tsx'
import { CodeField, OwnPassword } from '../gate/fields.tsx'

/** Whether a code is asked for beside the password; turning it on and off. */
export function SecondFactor() {
  const { totp } = useUser()
  const { become } = useSession()
  const [dialog, setDialog] = useState<'begin' | 'remove'>()
  // The answer that it is on, or off, may have been lost: the dialog is closed by whoever looks whether it was done.
  const close = () => {
    setDialog(undefined)
    call('GET /api/deployment', {}).then(
      ({ user }) => become(user),
      () => undefined,
    )
  }
  return (
    <section class="card" aria-labelledby="factor-title">
      <div class="card-head">
        <h2 id="factor-title">Second factor</h2>
        <Badge kind={totp ? 'good' : ''}>{totp ? 'On' : 'Off'}</Badge>
      </div>
      <p class="soft">
        A code from an authenticator app, asked for after your password. Whoever learns your password still
        cannot sign in.
      </p>
      <div>
        {totp ? (
          <Button kind="danger" onClick={() => setDialog('remove')}>
            Turn off
          </Button>
        ) : (
          <Button kind="primary" onClick={() => setDialog('begin')}>
            Turn on
          </Button>
        )}
      </div>
      {dialog === 'begin' ? <BeginFactor onClose={close} /> : null}
      {dialog === 'remove' ? <RemoveFactor onClose={close} /> : null}
    </section>
  )
}

/** Password, then the picture and a first code, then the recovery codes. */
function BeginFactor({ onClose }: { onClose(): void }) {
  const user = useUser()
  const { become } = useSession()
  const [begun, setBegun] = useState<{ secret: string; uri: string }>()
  const [recovery, setRecovery] = useState<string[]>()
  const begin = useForm({ password: '' }, async body => setBegun(await call('POST /api/me/totp', { body })))
  const confirm = useForm({ code: '' }, async ({ code }) => {
    const { recovery_codes } = await call('POST /api/me/totp/confirm', { body: { code: code.trim() } })
    setRecovery(recovery_codes)
  })
  const finish = () => {
    become({ ...user, totp: true })
    onClose()
  }
  if (recovery !== undefined) {
    return (
      <Dialog title="Recovery codes" held="shown-once" onClose={finish}>
        <Notice kind="warn">Keep these somewhere safe: each signs you in once if you lose your phone.</Notice>
        <Code text={recovery.join('\n')} what="the recovery codes" />
        <DialogEnd onClose={finish}>I have kept them</DialogEnd>
      </Dialog>
    )
  }
  return (
    <Dialog title="Turn on the second factor" onClose={onClose}>
      {begun === undefined ? (
        <Form action={begin} verb="Continue" onCancel={onClose}>
          <OwnPassword autoFocus {...begin.field('password')} />
        </Form>
      ) : (
        <Form action={confirm} verb="Turn on" onCancel={onClose}>
          <p>Scan this with your authenticator app, or type the secret.</p>
          <QrCode text={begun.uri} />
          <Code text={begun.secret} what="the secret" />
          <CodeField hint="The six digits that the app shows now." {...confirm.field('code')} />
        </Form>
      )}
    </Dialog>
  )
}

function QrCode({ text }: { text: string }) {
  const path = useMemo(() => {
    const code = generate(text)
    let squares = ''
    for (let y = 0; y < code.size; y++) {
      for (let x = 0; x < code.size; x++) if (code.get(x, y)) squares += `M${x} ${y}h1v1h-1z`
    }
    return { squares, size: code.size }
  }, [text])
  return (
    <svg
      class="qr"
      viewBox={`-2 -2 ${path.size + 4} ${path.size + 4}`}
      role="img"
      aria-label="QR code of the secret"
    >
      <path d={path.squares} fill="#000" shape-rendering="crispEdges" />
    </svg>
  )
}

function RemoveFactor({ onClose }: { onClose(): void }) {
  const user = useUser()
  const { become } = useSession()
  const remove = useForm({ password: '', code: '' }, async ({ password, code }) => {
    await call('POST /api/me/totp/remove', { body: { password, code: code.trim() } })
    become({ ...user, totp: false })
    onClose()
  })
  return (
    <FormDialog title="Turn off the second factor" verb="Turn off" action={remove} onClose={onClose}>
      <OwnPassword {...remove.field('password')} autoFocus />
      <CodeField {...remove.field('code')} />
    </FormDialog>
  )
}
