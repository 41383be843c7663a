import { counted } from '../format/number.ts'
import { TextField } from './field.tsx'

interface FindFieldProps {
  /** What each of the list is: `model`. */
  what: string
  /** How many are found; undefined: it is not known yet. */
  found: number | undefined
  /** More than these are. */
  hasMore?: boolean
  placeholder?: string
  value: string
  onValue(value: string): void
}

/** Narrows a list that is too long for the eye, and tells those who do not see it how many it has left. */
export function FindField({ what, found, hasMore = false, ...rest }: FindFieldProps) {
  return (
    <>
      <TextField
        label={`Find a ${what}`}
        type="search"
        spellcheck={false}
        {...rest}
        onKeyDown={event => {
          // The form around it is not meant.
          if (event.key === 'Enter') event.preventDefault()
        }}
      />
      <span role="status" class="unseen">
        {found === undefined ? null : found === 0 ? noneCalled(what) : counted(found, what)}
        {hasMore ? ' and more' : null}
      </span>
    </>
  )
}

/** What a search says that found none. */
export function noneCalled(what: string): string {
  return `No ${what} is called so`
}
