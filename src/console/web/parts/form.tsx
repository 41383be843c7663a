import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Action } from '../api/action.ts'
import { Button } from './button.tsx'
import { Dialog, type DialogProps, useHeldOpen } from './dialog.tsx'
import { FailureNotice } from './notice.tsx'

interface FormProps {
  /** What no field says of its failure is said above the button. */
  action: Pick<Action<[]>, 'run' | 'busy' | 'failure' | 'isSaidByField'>
  verb: string
  /** It destroys something. */
  danger?: boolean
  onCancel?: () => void
  children: ComponentChildren
}

/** A form that sends itself on Enter and puts the focus on the first field that is wrong. */
export function Form({ action, verb, danger = false, onCancel, children }: FormProps) {
  useHeldOpen(action.busy)
  return (
    <form
      ref={useWrongField(action)}
      class="stack"
      noValidate
      onSubmit={event => {
        event.preventDefault()
        if (!asksForTheRest(event.currentTarget)) void action.run()
      }}
    >
      {children}
      <FormFailure action={action} />
      <div class="dialog-foot">
        {onCancel === undefined ? null : (
          <Button disabled={action.busy} onClick={onCancel}>
            Cancel
          </Button>
        )}
        <Button type="submit" kind={danger ? 'danger primary' : 'primary'} busy={action.busy}>
          {verb}
        </Button>
      </div>
    </form>
  )
}

/** For a form: the first field that is wrong gets the focus, wherever it is. */
export function useWrongField({ failure }: Pick<Action<[]>, 'failure'>) {
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (failure === undefined) return
    const wrong = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')
    // A field that is folded away could neither be seen nor take the focus.
    for (let fold = wrong?.closest('details'); fold; fold = fold.parentElement?.closest('details')) {
      fold.open = true
    }
    wrong?.focus()
  }, [failure])
  return form
}

/** A dialog that is nothing but a form. */
export function FormDialog({
  title,
  shape,
  ...form
}: FormProps & Pick<DialogProps, 'title' | 'shape' | 'onClose'>) {
  return (
    <Dialog title={title} shape={shape} onClose={form.onClose}>
      <Form {...form} onCancel={form.onClose} />
    </Dialog>
  )
}

/**
 * A moment of which only a part is typed has no value, as if nothing had been typed. The browser knows better, and says
 * so at the field.
 */
function asksForTheRest(form: HTMLFormElement): boolean {
  const half = [...form.querySelectorAll('input')].find(({ validity }) => validity.badInput)
  half?.reportValidity()
  return half !== undefined
}

/** Stands behind the fields, so that they have said by then what they say. */
function FormFailure({ action: { failure, isSaidByField } }: Pick<FormProps, 'action'>) {
  return <FailureNotice failure={isSaidByField() ? undefined : failure} />
}
