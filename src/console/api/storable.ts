import { invalid } from '../failure.ts'

/**
 * Refuses text that the database cannot hold: a NUL, or half of a surrogate pair.
 * @param sent a body, or the parameters of an address
 * @throws ConsoleError `invalid_request` that names the field
 */
export function assertStorable(sent: unknown): void {
  const wrong = unstorable(sent)
  if (wrong !== undefined) throw invalid(wrong.join('.'), 'This has characters that no text has')
}

/** Where it is, as the names of fields that lead there. Names of fields are text as well. */
function unstorable(value: unknown): readonly string[] | undefined {
  if (typeof value === 'string') return isText(value) ? undefined : []
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, inner] of Object.entries(value)) {
    if (!isText(name)) return []
    const found = unstorable(inner)
    if (found !== undefined) return [name, ...found]
  }
  return undefined
}

function isText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
