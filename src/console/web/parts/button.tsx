import type { ButtonHTMLAttributes, ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

interface ButtonProps extends Omit<ButtonHTMLAttributes, 'class' | 'icon'> {
  /** What it is to the page: the one thing to do, something that destroys, or something aside. */
  kind?: 'primary' | 'danger' | 'danger primary' | 'quiet'
  small?: boolean
  /** Something it started is under way: it says so, keeps the focus, and cannot be pressed again. */
  busy?: boolean
  children: ComponentChildren
}

/** A button; while `busy` it takes no press. */
export function Button({
  kind,
  small,
  busy = false,
  children,
  onClick,
  type = 'button',
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      class={['button', kind, small ? 'small' : undefined].filter(Boolean).join(' ')}
      aria-disabled={busy}
      aria-busy={busy}
      onClick={event => {
        if (busy) event.preventDefault()
        else onClick?.(event)
      }}
    >
      {busy ? <span class="spinner" aria-hidden="true" /> : null}
      {children}
    </button>
  )
}

/** The one that begins something new on a page. */
export function AddButton({ onClick, children }: { onClick(): void; children: ComponentChildren }) {
  return (
    <Button kind="primary" onClick={onClick}>
      <Icon name="plus" size={18} /> {children}
    </Button>
  )
}
