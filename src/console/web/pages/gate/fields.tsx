import type { FieldOf } from '../../api/form-state.ts'
import { TextField } from '../../parts/field.tsx'
import { useUser } from '../../session.tsx'

/** The address by which somebody signs in. */
export function EmailField(field: FieldOf & { hint?: string }) {
  return <TextField label="Email" type="email" name="email" autoComplete="username" autoFocus {...field} />
}

/** The address of somebody who is known, for their password manager to see. */
export function KnownEmail({ email }: { email: string }) {
  return (
    <TextField
      label="Email"
      type="email"
      name="email"
      autoComplete="username"
      readOnly
      value={email}
      onValue={() => {}}
    />
  )
}

/** A password that somebody has. */
export function PasswordField({
  label = 'Password',
  ...field
}: FieldOf & { label?: string; autoFocus?: boolean }) {
  return (
    <TextField label={label} type="password" name="password" autoComplete="current-password" {...field} />
  )
}

/** The password of who is signed in, asked for anew. What is unseen beside it says to a password manager whose it is. */
export function OwnPassword({
  label = 'Your password',
  ...field
}: FieldOf & { label?: string; autoFocus?: boolean }) {
  const { email } = useUser()
  return (
    <>
      <PasswordField label={label} {...field} />
      <input hidden readOnly name="email" autoComplete="username" value={email} />
    </>
  )
}

/** Six digits from an authenticator, or a recovery code. Takes the focus, since it is all that is asked for now. */
export function CodeField({
  hint = 'The six digits of your authenticator app, or one of your recovery codes.',
  ...field
}: FieldOf & { hint?: string }) {
  return (
    <TextField
      label="Code"
      name="code"
      autoComplete="one-time-code"
      inputMode="text"
      spellcheck={false}
      autoFocus
      hint={hint}
      {...field}
    />
  )
}

/** A password that is chosen, here or on another page. */
export function NewPasswordField({ label = 'Password', ...field }: FieldOf & { label?: string }) {
  return (
    <TextField
      label={label}
      type="password"
      name="new-password"
      autoComplete="new-password"
      hint="At least 10 characters. A few words are easier to remember than symbols."
      {...field}
    />
  )
}
