import type { ComponentChildren } from 'preact'
import { useAction } from '../api/action.ts'
import { Button } from './button.tsx'
import { Dialog, useHeldOpen } from './dialog.tsx'
import { FailureNotice } from './notice.tsx'

interface ConfirmProps {
  title: string
  /** The button's words: what will happen. */
  verb: string
  danger?: boolean
  action(): Promise<unknown>
  onClose(): void
  children: ComponentChildren
}

/** Asks before something that is not easily undone, and does it. */
export function Confirm({ title, ...asked }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={asked.onClose}>
      <Asked {...asked} />
    </Dialog>
  )
}

function Asked({ verb, danger = false, action, onClose, children }: Omit<ConfirmProps, 'title'>) {
  const { run, busy, failure } = useAction(async () => {
    await action()
    onClose()
  })
  useHeldOpen(busy)
  return (
    <>
      <div class="stack tight">{children}</div>
      <FailureNotice failure={failure} />
      <div class="dialog-foot">
        <Button disabled={busy} onClick={onClose}>
          Cancel
        </Button>
        <Button kind={danger ? 'danger primary' : 'primary'} busy={busy} onClick={() => run()}>
          {verb}
        </Button>
      </div>
    </>
  )
}
