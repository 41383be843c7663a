import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Action } from '../api/action.ts'
import { Button } from './button.tsx'
import { FailureNotice } from './notice.tsx'

export interface FormProps {
  action: Pick<Action<[]>, 'run' | 'busy' | 'failure'>
  /** The fields that show their own errors; any other error is shown above the button. */
  fields: readonly string[]
  verb: string
  onCancel?: () => void
  children: ComponentChildren
}

/** A form that sends itself on Enter and puts the focus on the first field that is wrong. */
export function Form({ action, fields, verb, onCancel, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (action.failure === undefined) return
    const wrong = form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')
    // A field that is folded away could neither be seen nor take the focus.
    for (let fold = wrong?.closest('details'); fold; fold = fold.parentElement?.closest('details')) {
      fold.open = true
    }
    wrong?.focus()
  }, [action.failure])
  return (
    <form
      ref={form}
      class="stack"
      noValidate
      onSubmit={event => {
        event.preventDefault()
        action.run()
      }}
    >
      {children}
      <FailureNotice failure={action.failure} fields={fields} />
      <div class="dialog-foot">
        {onCancel === undefined ? null : <Button onClick={onCancel}>Cancel</Button>}
        <Button type="submit" kind="primary" busy={action.busy}>
          {verb}
        </Button>
      </div>
    </form>
  )
}
