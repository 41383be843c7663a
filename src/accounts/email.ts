/** An e-mail address as it is stored and looked for, however it was typed. */
export function storedEmail(text: string): string {
  return text.trim().toLowerCase()
}

/**
 * An e-mail address as it is stored; undefined for a text that is none. Invisible characters would make two addresses that
 * nobody can tell apart; the marks are of a list or a mail program, as in `Ada <ada@example.com>;`.
 */
export function readEmail(text: string): string | undefined {
  const email = storedEmail(text)
  return /^[^\s@\p{C}<>();:",]+@[^\s@\p{C}<>();:",]+$/u.test(email) ? email : undefined
}
