import type { Account } from '../../../api/contract/admin-accounts.ts'
import { typedText } from '../../format/typed.ts'
import { TextField } from '../../parts/field.tsx'

/** What the dialog of an act on an account is given; `onDone` is told what to say of it. */
export interface ActProps {
  account: Account
  onDone(said: string): void
  onClose(): void
}

/** The field that asks why, where nothing is asked before it. */
export function ReasonField(props: {
  value: string
  onValue(text: string): void
  error: string | undefined
}) {
  return <TextField label="Reason" autoFocus {...props} />
}

/** What was typed into it; throws an ApiFailure for nothing. */
export function typedReason(text: string): string {
  return typedText(text, 'reason', 'Say why, for the record.')
}
