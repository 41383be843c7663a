import { useCallback, useState } from 'preact/hooks'
import { type Action, useAction } from './action.ts'

/** What is typed into the fields of a form, and how some of it changes. */
function useTexts<Texts>(initial: Texts): [Texts, (changes: Partial<Texts>) => void] {
  const [texts, setTexts] = useState(initial)
  const change = useCallback((changes: Partial<Texts>) => setTexts(last => ({ ...last, ...changes })), [])
  return [texts, change]
}

/** What a field needs that shows one of the texts of a form. */
export interface FieldOf<Value = string> {
  value: Value
  onValue(value: Value): void
  error: string | undefined
}

/** Gives a field one of the texts by its name, which is what the API calls it. */
export function fieldsOf<Texts>(
  texts: Texts,
  change: (changes: Partial<Texts>) => void,
  errorOf: (field: string) => string | undefined = () => undefined,
) {
  return <Name extends keyof Texts & string>(name: Name): FieldOf<Texts[Name]> => ({
    value: texts[name],
    onValue: value => change(only(name, value)),
    error: errorOf(name),
  })
}

/** Safe because it has the one name and its value; a computed name is any text to the compiler. */
function only<Texts, Name extends keyof Texts>(name: Name, value: Texts[Name]): Partial<Texts> {
  return { [name]: value } as unknown as Partial<Texts>
}

/** What is typed into a form, and what becomes of it when it is sent. */
export interface FormState<Texts> extends Action<[]> {
  texts: Texts
  change(changes: Partial<Texts>): void
  /** What the field of that name is given. */
  field: ReturnType<typeof fieldsOf<Texts>>
}

/** A form that begins with these texts; `send` is given what they are by then. */
export function useForm<Texts>(initial: Texts, send: (texts: Texts) => Promise<unknown>): FormState<Texts> {
  const [texts, change] = useTexts(initial)
  const action = useAction(() => send(texts))
  return { ...action, texts, change, field: fieldsOf(texts, change, action.errorOf) }
}

/**
 * What a dialog that makes something calls it, however often it is sent: after an answer that was lost it is still made
 * once. 128 random bits; `crypto.randomUUID` is there on https and localhost only.
 */
export function useOnce(): string {
  const [bytes] = useState(() => crypto.getRandomValues(new Uint8Array(16)))
  return [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('')
}

/**
 * The revision that a change is made from: of what the fields were filled from, whatever the page has read since.
 * Empty where something is added.
 */
export function useRevision(stored: { revision: string } | undefined): string {
  const [revision] = useState(stored?.revision ?? '')
  return revision
}
