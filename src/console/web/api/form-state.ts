import { useCallback, useState } from 'preact/hooks'

/** What is typed into the fields of a form, and how some of it changes. */
export function useTexts<Texts>(initial: () => Texts): [Texts, (changes: Partial<Texts>) => void] {
  const [texts, setTexts] = useState(initial)
  const change = useCallback((changes: Partial<Texts>) => setTexts(last => ({ ...last, ...changes })), [])
  return [texts, change]
}

/**
 * The revision that a change is made from: of what the fields were filled from, whatever the page has read since.
 * Empty where something is added.
 */
export function useRevision(stored: { revision: string } | undefined): string {
  const [revision] = useState(stored?.revision ?? '')
  return revision
}
