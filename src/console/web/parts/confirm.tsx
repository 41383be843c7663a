import type { ComponentChildren } from 'preact'
import { useAction } from '../api/action.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { FailureNotice } from './notice.tsx'

export interface ConfirmProps {
  title: string
  /** The button's words: what will happen. */
  verb: string
  danger?: boolean
  action(): Promise<unknown>
  onClose(): void
  children: ComponentChildren
}

/** Asks before something that is not easily undone, and does it. */
export function Confirm({ title, verb, danger = false, action, onClose, children }: ConfirmProps) {
  const { run, busy, failure } = useAction(async () => {
    await action()
    onClose()
  })
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack tight">{children}</div>
      <FailureNotice failure={failure} />
      <div class="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind={danger ? 'danger primary' : 'primary'} busy={busy} onClick={() => run()}>
          {verb}
        </Button>
      </div>
    </Dialog>
  )
}
