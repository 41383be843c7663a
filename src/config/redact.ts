/**
 * A wrong value as it may be shown, in quotes. Somebody may have put an address with a password where it does not belong,
 * and a key or a whole file, of which only the length is told.
 */
export function redactValue(value: string): string {
  if (/:\/\/.*[@?]/.test(value)) return redactUrl(value)
  return value.length > MOST_SHOWN ? `${value.length} characters long` : JSON.stringify(value)
}

/** Shorter than keys are. */
const MOST_SHOWN = 30

/**
 * An address as it may be shown, in quotes: scheme, host and path, without user, password or query. What cannot be
 * read as an address is not shown at all, because a password could stand anywhere in it.
 */
export function redactUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url === undefined || url.host === '') return `not an address (${value.length} characters)`
  const user = url.username === '' && url.password === '' ? '' : '***@'
  return `"${url.protocol}//${user}${url.host}${url.pathname === '/' ? '' : url.pathname}"`
}
