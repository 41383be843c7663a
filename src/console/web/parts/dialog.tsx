import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

/** What a dialog is opened for: its first field, or else its first button. */
const FIRST = '.dialog-body :is(input, select, textarea, .button)'

export interface DialogProps {
  title: string
  onClose(): void
  /** In the middle, wide in the middle, or along the right edge. */
  shape?: 'dialog' | 'dialog wide' | 'drawer'
  /** Escape and the close button do nothing: what it shows is shown once. */
  held?: boolean
  children: ComponentChildren
}

/**
 * The browser's own modal dialog: it keeps the focus inside, closes on Escape and gives the focus back. Render it
 * while it is to be open.
 */
export function Dialog({ title, onClose, shape = 'dialog', held = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = element.current
    const opener = document.activeElement
    dialog?.showModal()
    // The browser would take the close button, which is the last thing that anybody opened this for.
    const first =
      dialog?.querySelector<HTMLElement>('[autofocus]') ?? dialog?.querySelector<HTMLElement>(FIRST)
    first?.focus()
    return () => {
      dialog?.close()
      // The browser does so only for a dialog that is still in the page.
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog
      ref={element}
      class={shape}
      aria-labelledby={id}
      onCancel={event => {
        event.preventDefault()
        if (!held) onClose()
      }}
      onMouseDown={event => {
        if (event.target === element.current && !held) onClose()
      }}
    >
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        {held ? null : (
          <button type="button" class="button quiet icon" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  )
}
