import type { ComponentChildren } from 'preact'
import { useAction } from '../api/action.ts'
import { FormDialog } from './form.tsx'

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
export function Confirm({ action, ...asked }: ConfirmProps) {
  const confirmed = useAction(async () => {
    await action()
    asked.onClose()
  })
  return <FormDialog action={confirmed} {...asked} />
}
