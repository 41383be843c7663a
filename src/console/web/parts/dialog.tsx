import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

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
    dialog?.showModal()
    return () => dialog?.close()
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
