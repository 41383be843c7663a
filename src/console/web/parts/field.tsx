import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface Labelled {
  label: string
  hint?: ComponentChildren
  /** What is wrong with it, in words; shown beside it and read with it. */
  error?: string | undefined
  optional?: boolean | undefined
}

/** Of the attributes of an input those that the pages use. */
interface TextAttributes {
  autoComplete?: string
  autoFocus?: boolean
  inputMode?: 'decimal' | 'numeric' | 'text'
  name?: string
  onKeyDown?: (event: KeyboardEvent) => void
  placeholder?: string
  readOnly?: boolean
  spellcheck?: boolean
}

interface TextFieldProps extends Labelled, TextAttributes {
  type?: 'text' | 'email' | 'password' | 'search' | 'url' | 'date' | 'datetime-local'
  value: string
  onValue(value: string): void
}

/** A labelled line of text. */
export function TextField({ value, onValue, type = 'text', ...rest }: TextFieldProps) {
  const [labelled, attributes] = split(rest)
  const input = useRef<HTMLInputElement>(null)
  // The browser does so once for a document, and this may be the second page of it, or the second part of a form.
  useEffect(() => {
    if (attributes.autoFocus) input.current?.focus()
  }, [])
  return (
    <Control {...labelled}>
      {control => (
        <input
          ref={input}
          {...attributes}
          {...control}
          type={asPlain(type)}
          class="control"
          value={value}
          onInput={event => onValue(event.currentTarget.value)}
        />
      )}
    </Control>
  )
}

/** Preact's types tell inputs apart by their type, one at a time; what they differ in is not used here. */
function asPlain(type: NonNullable<TextFieldProps['type']>): 'text' {
  return type as 'text'
}

interface TextAreaProps extends Labelled, TextAttributes {
  rows: number
  value: string
  onValue(value: string): void
}

/** A labelled text of several lines. */
export function TextArea({ value, onValue, rows, ...rest }: TextAreaProps) {
  const [labelled, attributes] = split(rest)
  return (
    <Control {...labelled}>
      {control => (
        <textarea
          {...attributes}
          {...control}
          rows={rows}
          class="control"
          value={value}
          onInput={event => onValue(event.currentTarget.value)}
        />
      )}
    </Control>
  )
}

/** One of several to choose from. */
export interface Option<Value extends string> {
  value: Value
  label: string
}

/** What is chosen by its own name. */
export function asOptions<Value extends string>(names: readonly Value[]): Option<Value>[] {
  return names.map(name => ({ value: name, label: name }))
}

/** What there is to choose from, and what the address has chosen even if it is not among that. */
export function choices(options: readonly Option<string>[], chosen: string): Option<string>[] {
  const isKnown = chosen === '' || options.some(({ value }) => value === chosen)
  return [{ value: '', label: 'Any' }, ...(isKnown ? [] : asOptions([chosen])), ...options]
}

interface SelectFieldProps<Value extends string> extends Labelled {
  value: Value
  options: readonly Option<Value>[]
  onValue(value: NoInfer<Value>): void
}

/** A labelled list to choose one of. */
export function SelectField<Value extends string>({
  value,
  options,
  onValue,
  ...labelled
}: SelectFieldProps<Value>) {
  return (
    <Control {...labelled}>
      {control => (
        <select
          {...control}
          class="control"
          value={value}
          onChange={event => {
            const chosen = options[event.currentTarget.selectedIndex]
            if (chosen !== undefined) onValue(chosen.value)
          }}
        >
          {options.map(option => (
            <option key={option.value} value={option.value} selected={option.value === value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Control>
  )
}

interface CheckFieldProps {
  label: ComponentChildren
  hint?: ComponentChildren
  value: boolean
  disabled?: boolean
  onValue(checked: boolean): void
}

/** Something to say yes or no to. */
export function CheckField({ label, hint, value, disabled = false, onValue }: CheckFieldProps) {
  const id = useId()
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={value}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : id}
        onChange={event => onValue(event.currentTarget.checked)}
      />
      <span>
        {label}
        {hint === undefined ? null : (
          <span id={id} class="hint">
            <br />
            {hint}
          </span>
        )}
      </span>
    </label>
  )
}

interface SegmentsProps<Value extends string> {
  label: string
  value: Value
  options: readonly Option<Value>[]
  onValue(value: NoInfer<Value>): void
}

/** One of a few, side by side, under its label as the other fields of a form. */
export function SegmentsField<Value extends string>(props: SegmentsProps<Value>) {
  return (
    <div class="field">
      <span class="legend" aria-hidden="true">
        {props.label}
      </span>
      <div>
        <Segments {...props} />
      </div>
    </div>
  )
}

/** One of a few, side by side. */
export function Segments<Value extends string>({ label, value, options, onValue }: SegmentsProps<Value>) {
  const name = useId()
  return (
    <fieldset class="segments">
      <legend class="unseen">{label}</legend>
      {options.map(option => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onValue(option.value)}
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  )
}

/** What is said about a control, and what is the control's own. */
function split<Props extends Labelled>({ label, hint, error, optional, ...attributes }: Props) {
  return [{ label, hint, error, optional }, attributes] as const
}

interface ControlAttributes {
  id: string
  'aria-invalid': 'true' | undefined
  'aria-describedby': string | undefined
}

/** A label above its control, what helps below it, and what is wrong below that. */
function Control({
  label,
  hint,
  error,
  optional = false,
  children,
}: Labelled & { children: (attributes: ControlAttributes) => ComponentChildren }) {
  const id = useId()
  const described = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`]
  return (
    <div class="field">
      <label for={id}>
        {label} {optional ? <span class="optional">optional</span> : null}
      </label>
      {children({
        id,
        'aria-invalid': error === undefined ? undefined : 'true',
        'aria-describedby': described.filter(Boolean).join(' ') || undefined,
      })}
      {hint === undefined ? null : (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {error === undefined ? null : (
        <span class="error" id={`${id}-error`}>
          {error}
        </span>
      )}
    </div>
  )
}
