import { useCallback, useState } from 'preact/hooks'

/** What is typed into the fields of a form, and how some of it changes. */
export function useTexts<Texts>(initial: () => Texts): [Texts, (changes: Partial<Texts>) => void] {
  const [texts, setTexts] = useState(initial)
  const change = useCallback((changes: Partial<Texts>) => setTexts(last => ({ ...last, ...changes })), [])
  return [texts, change]
}

/** What a field needs that shows one of the texts of a form. */
interface FieldOf<Value> {
  value: Value
  onValue(value: Value): void
  error: string | undefined
}

/** Gives a field one of the texts by its name; `said` is what the server calls it, if that is something else. */
export function fieldsOf<Texts>(
  texts: Texts,
  change: (changes: Partial<Texts>) => void,
  errorOf: (field: string) => string | undefined,
) {
  return <Name extends keyof Texts & string>(name: Name, said: string = name): FieldOf<Texts[Name]> => ({
    value: texts[name],
    onValue: value => change(only(name, value)),
    error: errorOf(said),
  })
}

/** Safe because it has the one name and its value; a computed name is any text to the compiler. */
function only<Texts, Name extends keyof Texts>(name: Name, value: Texts[Name]): Partial<Texts> {
  return { [name]: value } as unknown as Partial<Texts>
}

/**
 * The revision that a change is made from: of what the fields were filled from, whatever the page has read since.
 * Empty where something is added.
 */
export function useRevision(stored: { revision: string } | undefined): string {
  const [revision] = useState(stored?.revision ?? '')
  return revision
}
