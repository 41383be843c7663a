import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { useLeaving } from './leaving.ts'
import { ToastArea, useToast } from './toast.tsx'

/** What a dialog is opened for: its first field, or else its first button. */
const FIRST = '.dialog-body :is(input, select, textarea, .button)'
const FIELD = '.dialog-body :is(input, select, textarea)'

/** How many things that were set off inside a dialog are still under way. */
const UnderWay = createContext<{ current: number }>({ current: 0 })

/** Keeps the dialog around it open while something is under way, so that its end finds the dialog that began it. */
export function useHeldOpen(isUnderWay: boolean): void {
  const underWay = useContext(UnderWay)
  useLayoutEffect(() => {
    if (!isUnderWay) return
    underWay.current += 1
    return () => {
      underWay.current -= 1
    }
  }, [isUnderWay, underWay])
}

/** What a dialog is, and what ends it. */
export interface DialogProps {
  title: string
  onClose(): void
  /** In the middle, wide in the middle, or along the right edge. */
  shape?: 'dialog' | 'dialog wide' | 'drawer' | undefined
  /**
   * Escape does nothing and there is no close button: `asking` has to be answered. What is `shown-once` does not go by
   * the back button either, and a browser that would close or reload the page asks first.
   */
  held?: 'asking' | 'shown-once' | undefined
  children: ComponentChildren
}

/**
 * The browser's own modal dialog: it keeps the focus inside, closes on Escape and gives the focus back. A press beside
 * it closes it until something was typed. Render it while it is to be open.
 */
export function Dialog({ title, onClose, shape = 'dialog', held, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  const underWay = useRef(0)
  const isTyped = useRef(false)
  const isMounted = useRef(true)
  const focused = useRef<EventTarget | null>(null)
  // What had the focus may be gone with the form that it was in, and what that form was for is here.
  useEffect(() => {
    const isLost = focused.current instanceof Element && !focused.current.isConnected
    if (isLost && element.current !== null) focusFirst(element.current)
  })
  useEffect(() => {
    const dialog = element.current
    const opener = document.activeElement
    if (dialog !== null) open(dialog)
    const forget = dialog === null ? undefined : focusWhatComes(dialog)
    return () => {
      isMounted.current = false
      forget?.()
      dialog?.close()
      // The browser does so only for a dialog that is still in the page. What an address opened has no opener.
      const hasOpener = opener instanceof HTMLElement && opener !== document.body && opener.isConnected
      const back = hasOpener ? opener : document.querySelector<HTMLElement>('main h1')
      back?.focus({ preventScroll: !hasOpener })
    }
  }, [])
  const leave = () => {
    if (held === undefined && underWay.current === 0) onClose()
  }
  const toast = useToast()
  // The answer that is on its way may be what is shown once.
  useLeaving(
    () => held !== 'shown-once' && underWay.current === 0,
    () => {
      if (held === 'shown-once') toast('This is shown only once: close it when you have kept it')
    },
  )
  return (
    <dialog
      ref={element}
      class={shape}
      aria-labelledby={id}
      onCancel={event => {
        event.preventDefault()
        leave()
      }}
      // A browser asks only once in a row: the second Escape closes it without a question.
      onClose={() => {
        if (!isMounted.current || element.current === null) return
        open(element.current)
        leave()
      }}
      onFocusIn={event => {
        focused.current = event.target
      }}
      onInput={() => {
        isTyped.current = true
      }}
      onMouseDown={event => {
        if (event.target === element.current && !isTyped.current) leave()
      }}
    >
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        {held !== undefined ? null : (
          <button type="button" class="button quiet icon" aria-label="Close" onClick={leave}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <div class="dialog-body">
        <UnderWay.Provider value={underWay}>{children}</UnderWay.Provider>
      </div>
      <ToastArea />
    </dialog>
  )
}

/** The one button of a dialog that only shows something. */
export function DialogEnd({ onClose, children }: Pick<DialogProps, 'onClose' | 'children'>) {
  return (
    <div class="dialog-foot">
      <Button kind="primary" onClick={onClose}>
        {children}
      </Button>
    </div>
  )
}

/** The browser would give the focus to the close button, which is the last thing that anybody opened this for. */
function open(dialog: HTMLDialogElement): void {
  dialog.showModal()
  focusFirst(dialog)
}

function focusFirst(dialog: HTMLDialogElement): void {
  const first = dialog.querySelector<HTMLElement>('[autofocus]') ?? dialog.querySelector<HTMLElement>(FIRST)
  first?.focus()
}

/** Where a dialog waits for what it shows, its first field has the focus once it is there, if that is still to be had. */
function focusWhatComes(dialog: HTMLDialogElement): () => void {
  const observer = new MutationObserver(() => {
    const field = dialog.querySelector<HTMLElement>(FIELD)
    if (field === null) return
    observer.disconnect()
    if (document.activeElement?.closest('.dialog-head') !== null) field.focus()
  })
  if (dialog.querySelector(FIELD) === null) observer.observe(dialog, { childList: true, subtree: true })
  return () => observer.disconnect()
}
