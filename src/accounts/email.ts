/**
 * An e-mail address as it is stored, in lower case; undefined for what is none. Invisible characters would make two
 * addresses that nobody can tell apart.
 */
export function readEmail(text: string): string | undefined {
  const email = text.trim().toLowerCase()
  return /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u.test(email) ? email : undefined
}
