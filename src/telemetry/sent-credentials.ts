/** Shorter ones (`none`, `ollama`) are words that a sentence may hold. */
const MIN_LENGTH = 12

/** More than any deployment has. */
const MAX_KNOWN = 10_000

const known = new Set<string>()
/** Of all that are known; made when it is first wanted. */
let pattern: RegExp | undefined

/**
 * Notes a credential that this process sends out. Whoever it is sent to may say it again, in an error or an echo, and not
 * every vendor's key has looks of its own.
 */
export function noteSent(credential: string): void {
  if (credential.length < MIN_LENGTH || known.has(credential)) return
  known.add(credential)
  pattern = undefined
  for (const oldest of known) {
    if (known.size <= MAX_KNOWN) return
    known.delete(oldest)
  }
}

/** The text with every credential that was sent replaced. */
export function withoutSent(text: string, replacement: string): string {
  if (known.size === 0) return text
  // The longest first: one may begin with another.
  pattern ??= RegExp(
    [...known]
      .sort((one, other) => other.length - one.length)
      .map(RegExp.escape)
      .join('|'),
    'g',
  )
  return text.replace(pattern, () => replacement)
}
